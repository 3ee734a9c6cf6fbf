"""Deletes the one record on which a coordinator of Kafka 4 fails when it loads its offsets partition.

It appends a record without a value (a tombstone) to the partition, at its leader, with the same key. The plan holds the
key; the log is read again right before the call. The load still fails until compaction has removed both records from
the replica that leads next, since a coordinator cannot load the tombstone, either (docs/facts/consumer-groups.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.actions.base import Action, ActionStatus, Checks, Inverse, Kinds, Names, Preview
from kfix.heal.model.facts import Fact, ReadFact, about
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk
from kfix.heal.probes.base import ON_PARTITION
from kfix.heal.probes.keys import KEY, key_of, only_conflict


class OffsetsTombstone(Action):
    name = "offsets.tombstone"
    summary = "delete the record on which the coordinator of an offsets partition fails, by writing a tombstone"
    risk = Risk.ONE_PARTITION
    gate_floor = Gate.TYPED
    params = ON_PARTITION
    frozen: ClassVar[Kinds] = {**KEY, "record": ArgKind.INT, "classic": ArgKind.INT}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        found = only_conflict(args.tp(), read)
        return args.with_(
            group=found.group, key=found.key, first=found.first, record=found.offset, classic=found.classic
        )

    def preview(self, args: Args) -> Preview:
        tp, group, record = args.tp(), args.text("group"), args.number("record")
        kept = f"its record as a classic group, at offset {args.number('classic')}, and its committed offsets stay"
        return Preview(
            what=f"{tp}: delete the record of the consumer protocol at offset {record}, of group {group}: {kept}",
            target=str(tp),
            live=f"group {group} offset {record}",
            command=f"# no tool of Kafka writes to {tp.topic}: with a producer whose client.id is __admin_client, send "
            f"the key {args.text('key')} (hexadecimal) without a value to partition {tp.partition}",
            estimate=Estimate(
                partitions=1,
                max_loss="no committed offset: one record of the consumer protocol, of a group that is a classic one",
            ),
        )

    def inverse(self, _args: Args) -> Inverse:
        return Inverse(False, "cannot be reverted: with the record, the partition cannot be loaded")

    def reads(self, args: Args) -> Names:
        return (*about(args.tp(), "leader", "leader_epoch"), *self.writes(args))

    def writes(self, args: Args) -> Names:
        return about(args.tp(), "load_conflicts")

    def guards(self, args: Args) -> Checks:
        return (CheckCall("partition_has_live_isr", args.only("partition")),)

    def proves(self, args: Args) -> Checks:
        return (CheckCall("key_is_deleted", args.only("partition", *KEY)),)

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.delete_key(args.tp(), key_of(args))

    def probe(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        try:
            left = reader.key_left(args.tp(), key_of(args), args.number("first"))
        except UnreachableError:
            return ActionStatus.UNKNOWN
        if not left or any(each.error for each in left.values()):
            return ActionStatus.UNKNOWN
        deleted = [each.deleted for each in left.values()]
        if all(deleted):
            return ActionStatus.DONE
        return ActionStatus.IN_PROGRESS if any(deleted) else ActionStatus.NOT_STARTED
