"""Probes about consumer groups: their state, their members and their committed offsets."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.group_reading import awaited
from kfix.core.snapshot.offsets import GroupOffsets, StoredOffset, parse_stored
from kfix.core.snapshot.snapshot import NO_LEADER, LogEnd, TopicPartition
from kfix.core.wording import several, some
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import ON_PARTITION, probe

# Committed offsets of one group in one topic as an argument: JSON such as `{"0":"5","1":null}`.
#
# null stands for a partition without a committed offset. The text is canonical, so that equal offsets are equal texts.

#: The arguments that name a group, a topic and committed offsets.
OFFSETS: Mapping[str, ArgKind] = {"group": ArgKind.TEXT, "topic": ArgKind.TOPIC, "offsets": ArgKind.TEXT}

Offsets = Mapping[TopicPartition, StoredOffset | None]


def to_text(offsets: Offsets) -> str:
    rows = {str(tp.partition): None if each is None else each.text for tp, each in sorted(offsets.items())}
    return json.dumps(rows, separators=(",", ":"))


def from_text(topic: str, text: str) -> Offsets:
    """Returns the offsets. Raises RefusedError for a text that `to_text` did not write."""
    try:
        rows = json.loads(text)
        found = {
            TopicPartition(topic, int(number)): None if each is None else parse_stored(each)
            for number, each in rows.items()
        }
    except (ValueError, TypeError, AttributeError, RecursionError):
        found = {}
    if not found or min(tp.partition for tp in found) < 0 or to_text(found) != text:
        raise RefusedError(f"topic {topic}: {text[:60]!r} are not committed offsets")
    return found


def offsets_of(args: Args, key: str = "offsets") -> Offsets:
    return from_text(args.text("topic"), args.text(key))


def read_group(args: Args, reader: ClusterReader) -> GroupOffsets:
    """Returns the group with the partitions that the arguments name."""
    return reader.group(args.text("group"), tuple(offsets_of(args)))


def shown_offset(each: StoredOffset | None) -> str:
    return "none" if each is None else str(each.offset)


def shown_offsets(offsets: Offsets) -> str:
    """Returns `orders-0 5, orders-1 none`."""
    return ", ".join(f"{tp} {shown_offset(each)}" for tp, each in sorted(offsets.items()))


def leader_log(tp: TopicPartition, reader: ClusterReader) -> LogEnd:
    """Returns log start and log end offset at the leader. Raises UnreachableError without a leader that answers."""
    state = reader.recorded(tp).state
    if state is None or state.leader == NO_LEADER:
        raise UnreachableError(f"{tp}: {'has no leader' if state else 'does not exist'}, so its log range is unknown")
    found = reader.log_ends(tp, (state.leader,))[state.leader]
    if found.error:
        raise UnreachableError(f"{tp}: broker {state.leader}: {found.error}")
    return found


@probe("the consumer group has no members", {"group": ArgKind.TEXT})
def group_is_empty(args: Args, reader: ClusterReader) -> Answer:
    """The group has no members, so that an offset may be committed for it: its state is Empty or Dead."""
    found = reader.group(args.text("group"), ())
    return judge(not found.has_members, f"group {found.group} is {found.state}", "Empty or Dead: no members")


@probe("the consumer group is Stable, or Empty", {"group": ArgKind.TEXT})
def group_is_settled(args: Args, reader: ClusterReader) -> Answer:
    """The group does not rebalance: its coordinator answers, and the state is Stable, or Empty if no member is left.

    A group that the coordinator does not know (Dead) is not settled: its name may be wrong.
    """
    found = reader.group(args.text("group"), ())
    return judge(found.state in {"Stable", "Empty"}, f"group {found.group} is {found.state}", "Stable, or Empty")


_SHOWN = 5


@probe(
    "the group is rebalancing, and this member may be holding it up", {"group": ArgKind.TEXT, "member": ArgKind.TEXT}
)
def member_holds_rebalance(args: Args, reader: ClusterReader) -> Answer:
    """The group rebalances, and its coordinator may wait for this member: it is not one that has joined since.

    With several such members, no client request shows which of them the coordinator waits for (KFX111).
    """
    found, member = reader.group_members(args.text("group")), args.text("member")
    observed, wanted = f"group {found.group} is {found.state}", f"it is rebalancing, and {member} holds it up"
    if not found.rebalances:
        return judge(False, observed, wanted)
    last = reader.last_generation(found.group)
    holding = [each.id for each in awaited(found.members, found.state, last.members, found.epoch)]
    if last.number is not None:
        observed += f" after generation {last.number}"
    if all(each.id != member for each in found.members):
        observed += f" and has no member {member}: it has left, or joined again under another id"
    elif member not in holding:
        observed += f"; {member} has joined since"
    who = "the only member that may hold it is" if len(holding) == 1 else "the members that may hold it are"
    return judge(member in holding, f"{observed}; {who} {some(holding, _SHOWN)}", wanted)


@probe("the consumer group no longer has this member", {"group": ArgKind.TEXT, "member": ArgKind.TEXT})
def member_is_gone(args: Args, reader: ClusterReader) -> Answer:
    """The group has no member of this id. A client that was removed joins again under another id."""
    found, member = reader.group_members(args.text("group")), args.text("member")
    there = any(each.id == member for each in found.members)
    observed = f"group {found.group} is {found.state}, with {several(len(found.members), 'member')}"
    return judge(not there, f"{observed}, and {'has' if there else 'not'} {member}", f"it has no member {member}")


@probe("OffsetFetch refuses no offset of the group because of a transaction", {"group": ArgKind.TEXT, **ON_PARTITION})
def no_pending_offset(args: Args, reader: ClusterReader) -> Answer:
    """OffsetFetch answers with a stable offset of the group in the partition: no open transaction holds it."""
    tp = args.tp()
    found = reader.group(args.text("group"), (tp,))
    stored = found.committed.get(tp)
    offset = "no committed offset" if stored is None else f"committed offset {stored.offset}"
    observed = f"group {found.group}: {tp} {'UNSTABLE_OFFSET_COMMIT' if tp in found.unstable else offset}"
    return judge(tp not in found.unstable, observed, "a stable offset, or none")


@probe("OffsetFetch returns these committed offsets", OFFSETS)
def offsets_are(args: Args, reader: ClusterReader) -> Answer:
    """The committed offsets of the group are these, and no open transaction holds one of them."""
    wanted, found = offsets_of(args), read_group(args, reader)
    # The leader epoch and the metadata are no position.
    same = all(shown_offset(found.committed.get(tp)) == shown_offset(each) for tp, each in wanted.items())
    observed = f"group {found.group}: {shown_offsets(found.committed)}"
    if found.unstable:
        observed += f"; an open transaction holds {', '.join(map(str, found.unstable))}"
    return judge(same and not found.unstable, observed, shown_offsets(wanted))


@probe("OffsetFetch returns these committed offsets, or later ones", OFFSETS)
def offsets_at_least(args: Args, reader: ClusterReader) -> Answer:
    """The group has not lost these committed offsets: it may have committed later ones, as live consumers do."""
    wanted, found = offsets_of(args), read_group(args, reader)
    kept = all(
        each is None or ((now := found.committed.get(tp)) is not None and now.offset >= each.offset)
        for tp, each in wanted.items()
    )
    observed = f"group {found.group}: {shown_offsets(found.committed)}"
    if found.unstable:
        observed += f"; an open transaction holds {', '.join(map(str, found.unstable))}"
    return judge(kept and not found.unstable, observed, f"at least {shown_offsets(wanted)}")


_ONE_RECORD: Mapping[str, ArgKind] = {**ON_PARTITION, "offset": ArgKind.INT}


@probe("the record at this offset is the one that was saved", {**_ONE_RECORD, "sha256": ArgKind.TEXT})
def record_is_saved(args: Args, reader: ClusterReader) -> Answer:
    """The leader serves a record at this offset, and its hash is that of the file of kfix offsets record."""
    tp, offset, wanted = args.tp(), args.number("offset"), args.text("sha256")
    try:
        found = reader.logged_record(tp, offset).sha256
    except RefusedError as refusal:
        return judge(False, str(refusal), f"a record of sha256 {wanted}")
    return judge(found == wanted, f"{tp}: the record at offset {offset} has sha256 {found}", f"sha256 {wanted}")


@probe("the group reads on behind this record, or nothing is left to read", {"group": ArgKind.TEXT, **_ONE_RECORD})
def group_reads_on(args: Args, reader: ClusterReader) -> Answer:
    """The group has committed an offset of its own behind the next record, or only markers of transactions follow."""
    tp, after = args.tp(), args.number("offset") + 1
    stored = reader.group(args.text("group"), (tp,)).committed.get(tp)
    observed = f"group {args.text('group')}: {tp} {shown_offset(stored)}"
    if stored is not None and stored.offset == after and not reader.records_left(tp, after):
        return judge(True, f"{observed}, and no record follows", f"above {after}")
    return judge(stored is not None and stored.offset > after, observed, f"above {after}")


_OF_TOPIC: Mapping[str, ArgKind] = {"group": ArgKind.TEXT, "topic": ArgKind.TOPIC}


def _positions(args: Args, reader: ClusterReader) -> Mapping[TopicPartition, tuple[int, LogEnd]]:
    """Returns {partition: (committed offset, log)} of the topic where the group has committed one."""
    topic = args.text("topic")
    tps = tuple(TopicPartition(topic, number) for number in range(reader.partition_count(topic) or 0))
    committed = reader.group(args.text("group"), tps).committed
    return {tp: (each.offset, leader_log(tp, reader)) for tp, each in committed.items() if each is not None}


@probe("no record that the group has not read was deleted", _OF_TOPIC)
def group_has_its_records(args: Args, reader: ClusterReader) -> Answer:
    """No log of the topic begins behind the committed offset of the group, which has one in a partition of it."""
    found, wanted = _positions(args, reader), "a committed offset, and none below the start of its log"
    gone = [
        f"{tp} {offset} (its log starts at {log.start})" for tp, (offset, log) in found.items() if offset < log.start
    ]
    if not found:
        return judge(False, f"group {args.text('group')} has no committed offset of {args.text('topic')}", wanted)
    return judge(not gone, f"below the start: {', '.join(gone)}" if gone else "none is below the start", wanted)


@probe(
    "the group is at most this many records behind in every partition of the topic", {**_OF_TOPIC, "lag": ArgKind.INT}
)
def group_is_within(args: Args, reader: ClusterReader) -> Answer:
    """The committed offsets of the group in the topic are at most this many records below the ends of the logs."""
    behind = {tp: log.end - offset for tp, (offset, log) in _positions(args, reader).items()}
    observed = "no committed offset"
    if behind:
        worst = max(behind, key=behind.__getitem__)
        observed = f"group {args.text('group')} is {several(max(behind[worst], 0), 'record')} behind in {worst}"
    most = args.number("lag")
    return judge(bool(behind) and max(behind.values()) <= most, observed, f"at most {several(most, 'record')}")


@probe("the offsets are within the log of their partition", {"topic": ArgKind.TOPIC, "offsets": ArgKind.TEXT})
def offsets_in_log(args: Args, reader: ClusterReader) -> Answer:
    """The offsets are within the log of their partition at its leader: from its log start to its log end offset.

    A consumer with an offset outside of it applies auto.offset.reset.
    """
    outside = []
    for tp, each in offsets_of(args).items():
        if each is not None:
            log = leader_log(tp, reader)
            if not log.start <= each.offset <= log.end:
                outside.append(f"{tp} {each.offset} (its log has {log.start} to {log.end})")
    return judge(not outside, f"outside: {', '.join(outside)}" if outside else "all are", "every offset is in the log")
