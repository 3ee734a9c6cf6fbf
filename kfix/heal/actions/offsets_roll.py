"""Makes Kafka begin a new segment of an offsets partition: it appends a record without a value, of an unused group.

The log cleaner does not touch the newest segment, and a segment ends only when a record is appended to it; a
coordinator that gave its partition up appends none. A coordinator that loads such a record deletes a group that does
not exist. `number` makes the group's name, and so the record of each step, a different one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.actions.base import Action, ActionStatus, Checks, Inverse, Kinds, Names, Preview
from kfix.heal.model.facts import Fact, ReadFact, about
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk
from kfix.heal.probes.base import ON_PARTITION

_CLASSIC = 2
_MOST = 99


class OffsetsRoll(Action):
    name = "offsets.roll"
    summary = "append a tombstone of a group that does not exist, so that the partition begins a new segment"
    risk = Risk.ONE_PARTITION
    gate_floor = Gate.PLAN
    params: ClassVar[Kinds] = {**ON_PARTITION, "number": ArgKind.INT}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        (leader,) = about(args.tp(), "leader")
        read(leader)
        if not 1 <= args.number("number") <= _MOST:
            raise RefusedError(f"{args.tp()}: number {args.number('number')} is not between 1 and {_MOST}")
        return args

    def preview(self, args: Args) -> Preview:
        tp = args.tp()
        return Preview(
            what=f"{tp}: append a record without a value of group {_group(args)}, which does not exist: a segment ends",
            target=str(tp),
            live=_group(args),
            command=f"# no tool of Kafka writes to {tp.topic}: with a producer whose client.id is __admin_client, send "
            f"the key {_key(args).hex()} (hexadecimal) without a value to partition {tp.partition}",
            estimate=Estimate(partitions=1, max_loss="none: no group has this name"),
        )

    def inverse(self, _args: Args) -> Inverse:
        return Inverse(False, "none needed: compaction removes the record")

    def reads(self, args: Args) -> Names:
        return about(args.tp(), "leader", "leader_epoch")

    def writes(self, _args: Args) -> Names:
        return ()

    def guards(self, args: Args) -> Checks:
        return (CheckCall("partition_has_live_isr", args.only("partition")),)

    def proves(self, args: Args) -> Checks:
        own = args.only("partition").with_(group=_group(args), key=_key(args).hex(), first=0)
        return (CheckCall("key_is_deleted", own),)

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.delete_key(args.tp(), _key(args))

    def probe(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        """Compaction may have removed the record since: then another one does no harm."""
        try:
            left = reader.key_left(args.tp(), _key(args), 0)
        except UnreachableError:
            return ActionStatus.UNKNOWN
        if any(each.tombstones for each in left.values()):
            return ActionStatus.DONE
        return ActionStatus.UNKNOWN if any(each.error for each in left.values()) else ActionStatus.NOT_STARTED


def _group(args: Args) -> str:
    return f"kfix-segment-{args.number('number')}"


def _key(args: Args) -> bytes:
    group = _group(args).encode()
    return _CLASSIC.to_bytes(2, "big") + len(group).to_bytes(2, "big") + group
