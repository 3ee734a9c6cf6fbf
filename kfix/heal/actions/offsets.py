"""Writes records into the offsets topic: a group's commits, a tombstone, and one that begins a new segment."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.offsets import StoredOffset, parse_stored
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.wording import several
from kfix.heal.actions.base import Action, ActionStatus, Checks, Inverse, Kinds, Names, NotApplicable, Preview
from kfix.heal.model.facts import Fact, ReadFact, about, about_group
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk, Undo
from kfix.heal.probes.base import ON_PARTITION
from kfix.heal.probes.coordinators import KEY, key_of, only_conflict
from kfix.heal.probes.groups import OFFSETS, offsets_of, read_group, shown_offset, to_text

#: More offsets than these are counted in the line of a step.
_MOST_SHOWN = 4


class OffsetsCommit(Action):
    """Commits offsets of one group in one topic, as a consumer outside the group does; null deletes an offset.

    The plan holds the committed offsets of before, which a guard reads again right before the call: a commit that
    someone made since is never overwritten. Kafka itself refuses the commit while the group has members. An offset
    is moved back only with `back`, and an offset outside the log is committed only with `outside`.
    """

    name = "offsets.commit"
    summary = "commit saved offsets of a group without members; moves none back and none outside the log by default"
    risk = Risk.ONE_TOPIC
    gate_floor = Gate.PLAN
    params: ClassVar[Kinds] = OFFSETS
    optional: ClassVar[Kinds] = {"back": ArgKind.BOOL, "outside": ArgKind.BOOL}
    frozen: ClassVar[Kinds] = {"offsets_before": ArgKind.TEXT}
    proved: ClassVar[Mapping[str, Names]] = {"offsets_are": tuple(OFFSETS)}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        literal = Args({"back": False, "outside": False, **args})
        wanted = offsets_of(literal)
        before = {tp: _stored(read(about_group(literal.text("group"), tp))) for tp in wanted}
        if all(shown_offset(before[tp]) == shown_offset(each) for tp, each in wanted.items()):
            raise NotApplicable(f"group {literal.text('group')} has these offsets of {literal.text('topic')} already")
        for tp, each in wanted.items():
            now = before[tp]
            if now is not None and (each is None or each.offset < now.offset) and not literal.flag("back"):
                text = f"group {literal.text('group')}: {tp}: the committed offset {now.offset} is newer"
                raise RefusedError(f"{text} than {shown_offset(each)}")
        return literal.with_(offsets_before=to_text(before))

    def preview(self, args: Args) -> Preview:
        group, before, wanted = args.text("group"), offsets_of(args, "offsets_before"), offsets_of(args)
        moves = [f"{tp} {shown_offset(before.get(tp))} -> {shown_offset(each)}" for tp, each in sorted(wanted.items())]
        if len(moves) > _MOST_SHOWN:
            moves = [f"{several(len(moves), 'offset')} of topic {args.text('topic')}"]
        return Preview(
            what=f"group {group}: {', '.join(moves)}",
            target=f"group {group}",
            live=f"{args.text('topic')} was {', '.join(shown_offset(each) for each in before.values())}",
            command=_command(args),
            estimate=Estimate(max_loss="none: it deletes no record; consumers continue at these offsets"),
        )

    def inverse(self, args: Args) -> Inverse:
        back = args.only("group", "topic").with_(
            offsets=args.text("offsets_before"), offsets_before=args.text("offsets"), back=True, outside=True
        )
        new = ", and delete those that were not committed" if None in offsets_of(back).values() else ""
        return Inverse(True, f"commit the previous offsets{new}", Undo(OffsetsCommit.name, back))

    def writes(self, args: Args) -> Names:
        return tuple(about_group(args.text("group"), tp) for tp in offsets_of(args))

    def guards(self, args: Args) -> Checks:
        as_planned = Args({**args.only("group", "topic"), "offsets": args.text("offsets_before")})
        found = (CheckCall("group_is_empty", args.only("group")), CheckCall("offsets_are", as_planned))
        return found if args.flag("outside") else (*found, CheckCall("offsets_in_log", args.only("topic", "offsets")))

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.commit_offsets(args.text("group"), offsets_of(args))

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        found = read_group(args, reader).committed
        for offsets, status in (
            (offsets_of(args), ActionStatus.DONE),
            (offsets_of(args, "offsets_before"), ActionStatus.NOT_STARTED),
        ):
            if all(shown_offset(found.get(tp)) == shown_offset(each) for tp, each in offsets.items()):
                return status
        return ActionStatus.UNKNOWN

    def gate_for(self, args: Args) -> Gate:
        """Filling a gap needs the approval of the plan; replacing a committed offset asks at the step."""
        replaced = any(each is not None for each in offsets_of(args, "offsets_before").values())
        return Gate.STEP if replaced else Gate.PLAN


class OffsetsSkip(OffsetsCommit):
    """Moves the committed offset of one group in one partition behind exactly one record, which was saved before.

    The new offset keeps the leader epoch and the metadata of the committed one. It is refused unless the group still
    stands at the saved record, and unless the leader still serves this very record.
    """

    name = "offsets.skip"
    summary = "skip one saved record of one partition for a group without members: commit the offset after it"
    gate_floor = Gate.STEP
    params: ClassVar[Kinds] = {"group": ArgKind.TEXT, **ON_PARTITION, "offset": ArgKind.INT, "sha256": ArgKind.TEXT}
    optional: ClassVar[Kinds] = {}
    frozen: ClassVar[Kinds] = {"topic": ArgKind.TOPIC, "offsets": ArgKind.TEXT, "offsets_before": ArgKind.TEXT}
    #: The group reads on before the run has ended.
    proved: ClassVar[Mapping[str, Names]] = {"offsets_at_least": tuple(OFFSETS)}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        group, tp, at = args.text("group"), args.tp(), args.number("offset")
        before = _stored(read(about_group(group, tp)))
        if before is not None and before.offset == at + 1:
            raise NotApplicable(f"group {group} has committed offset {at + 1} of {tp} already")
        if before is None or before.offset != at:
            raise RefusedError(
                f"group {group}: {tp}: the committed offset is {shown_offset(before)}, not {at}: the group does not "
                "stand at the saved record"
            )
        after = before._replace(offset=at + 1)
        return args.with_(topic=tp.topic, offsets=to_text({tp: after}), offsets_before=to_text({tp: before}))

    def preview(self, args: Args) -> Preview:
        group, tp, at = args.text("group"), args.tp(), args.number("offset")
        return replace(
            super().preview(args),
            what=f"group {group}: {tp}: skip the record at offset {at}, of sha256 {args.text('sha256')[:12]}",
            live=f"{tp} {at}",
            estimate=Estimate(max_loss=f"none: group {group} never gets this record, which stays in the log"),
        )

    def guards(self, args: Args) -> Checks:
        saved = CheckCall("record_is_saved", args.only("partition", "offset", "sha256"))
        return (*super().guards(args.with_(outside=True)), saved)

    def status(self, args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        now = read_group(args, reader).committed.get(args.tp())
        if now is not None and now.offset > args.number("offset"):
            return ActionStatus.DONE
        return super().status(args, before, reader)

    def gate_for(self, _args: Args) -> Gate:
        return self.gate_floor


def _stored(fact: Fact) -> StoredOffset | None:
    return None if fact.value is None else parse_stored(str(fact.value))


def _command(args: Args) -> str:
    """Returns the commands of Kafka's own tool, which takes offsets from a CSV file and deletes others by topic."""
    group, offsets = shlex.quote(args.text("group")), offsets_of(args)
    rows = [f"{tp.topic},{tp.partition},{each.offset}" for tp, each in offsets.items() if each is not None]
    tool = f"kafka-consumer-groups.sh --bootstrap-server HOST:PORT --group {group}"
    commands = []
    if rows:
        commands.append(
            f"printf '%s\\n' {' '.join(rows)} > offsets.csv && {tool} --reset-offsets --from-file offsets.csv --execute"
        )
    if len(rows) < len(offsets):
        gone = ",".join(str(tp.partition) for tp, each in offsets.items() if each is None)
        commands.append(f"{tool} --delete-offsets --topic {args.text('topic')}:{gone}")
    return " && ".join(commands)


class OffsetsTombstone(Action):
    """Deletes the one record on which a coordinator of Kafka 4 fails when it loads its offsets partition.

    It appends a record without a value (a tombstone) to the partition, at its leader, with the same key. The plan
    holds the key; the log is read again right before the call. The load still fails until compaction has removed
    both records from the replica that leads next, since a coordinator cannot load the tombstone, either
    (docs/facts/consumer-groups.md).
    """

    name = "offsets.tombstone"
    summary = "delete the record on which the coordinator of an offsets partition fails, by writing a tombstone"
    risk = Risk.ONE_PARTITION
    gate_floor = Gate.TYPED
    params = ON_PARTITION
    frozen: ClassVar[Kinds] = {**KEY, "record": ArgKind.INT, "classic": ArgKind.INT}
    irreversible = "cannot be reverted: with the record, the partition cannot be loaded"
    guarded: ClassVar[Mapping[str, Names]] = {"partition_has_live_isr": ("partition",)}
    proved: ClassVar[Mapping[str, Names]] = {"key_is_deleted": ("partition", *KEY)}

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

    def reads(self, args: Args) -> Names:
        return (*about(args.tp(), "leader", "leader_epoch"), *self.writes(args))

    def writes(self, args: Args) -> Names:
        return about(args.tp(), "load_conflicts")

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.delete_key(args.tp(), key_of(args))

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        left = reader.key_left(args.tp(), key_of(args), args.number("first"))
        if not left or any(each.error for each in left.values()):
            return ActionStatus.UNKNOWN
        deleted = [each.deleted for each in left.values()]
        if all(deleted):
            return ActionStatus.DONE
        return ActionStatus.IN_PROGRESS if any(deleted) else ActionStatus.NOT_STARTED


_CLASSIC = 2
_MOST = 99


class OffsetsRoll(Action):
    """Makes Kafka begin a new segment of an offsets partition: it appends a record without a value, of an unused
    group.

    The log cleaner does not touch the newest segment, and a segment ends only when a record is appended to it; a
    coordinator that gave its partition up appends none. A coordinator that loads such a record deletes a group
    that does not exist. `number` makes the group's name, and so the record of each step, a different one.
    """

    name = "offsets.roll"
    summary = "append a tombstone of a group that does not exist, so that the partition begins a new segment"
    risk = Risk.ONE_PARTITION
    gate_floor = Gate.PLAN
    params: ClassVar[Kinds] = {**ON_PARTITION, "number": ArgKind.INT}
    irreversible = "none needed: compaction removes the record"
    guarded: ClassVar[Mapping[str, Names]] = {"partition_has_live_isr": ("partition",)}

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

    def reads(self, args: Args) -> Names:
        return about(args.tp(), "leader", "leader_epoch")

    def proves(self, args: Args) -> Checks:
        own = args.only("partition").with_(group=_group(args), key=_key(args).hex(), first=0)
        return (CheckCall("key_is_deleted", own),)

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.delete_key(args.tp(), _key(args))

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        """Compaction may have removed the record since: then another one does no harm."""
        left = reader.key_left(args.tp(), _key(args), 0)
        if any(each.tombstones for each in left.values()):
            return ActionStatus.DONE
        return ActionStatus.UNKNOWN if any(each.error for each in left.values()) else ActionStatus.NOT_STARTED


def _group(args: Args) -> str:
    return f"kfix-segment-{args.number('number')}"


def _key(args: Args) -> bytes:
    group = _group(args).encode()
    return _CLASSIC.to_bytes(2, "big") + len(group).to_bytes(2, "big") + group
