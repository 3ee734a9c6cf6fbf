"""Reads consumer groups: one in depth (coordinator's address, members, offsets, their logs), the others' offsets.

In depth it reads at most `MOST_PARTITIONS` partitions of a group; each request fails alone, and its error is kept. The
offsets of all groups take one request per group, pipelined to its coordinator, and three per leader: two round trips.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kfix.core.collect.logs import ask_bounds
from kfix.core.collect.offsets_log import ask_parts, read_records
from kfix.core.collect.tasks import Brokers, by_broker
from kfix.core.collect.transactions import MOST_HELD, ask_only_markers, ask_open_batches
from kfix.core.derive.record import leader_and_isr
from kfix.core.endpoint import connected, plain_reason
from kfix.core.errors import UnreachableError
from kfix.core.kafka import group_messages
from kfix.core.kafka.codes import TOPIC, name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_messages import CommittedOffset, FoundCoordinator, GroupDescription, ListedGroup
from kfix.core.kafka.new_groups import NOT_FOUND, ask_group_description, ask_typed, describe_share_offsets
from kfix.core.kafka.requests import PartitionOffset
from kfix.core.snapshot.group_reading import (
    CONSUMER_GROUP,
    DEAD,
    SHARE_GROUP,
    STREAMS_GROUP,
    GroupMembers,
    GroupPartition,
    GroupReading,
    LastGeneration,
    described_by,
)
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import BrokerView, Endpoint, Group, TopicPartition
from kfix.core.snapshot.transactions import OpenBatch
from kfix.core.timing import Deadline

T = TypeVar("T")
MOST_PARTITIONS = 1000
#: Most offsets behind the committed one that may be markers of transactions only.
_MOST_MARKERS = 10
#: Most groups whose offsets a plain snapshot reads, most of their partitions, and most rebalancing ones read in depth.
MOST_GROUPS, MOST_POSITIONS, MOST_REBALANCING = 500, 5000, 5
#: Timeout in seconds for a connection to a coordinator's address, which a firewall may never answer.
_CONNECT_SECONDS = 1.5
_UNREAD = CommittedOffset(0, -1)
_Bounds = tuple[PartitionOffset | None, ...]
_Committed = dict[TopicPartition, CommittedOffset]
Leaders = Callable[[Iterable[TopicPartition]], Mapping[TopicPartition, int]]


def leaders_of(
    tps: Iterable[TopicPartition], record: ClusterRecord | None, views: Mapping[int, BrokerView]
) -> dict[TopicPartition, int]:
    """Returns {partition: leader}, from the record or the newest metadata; partitions without a leader are missing."""
    known = ((tp, leader_and_isr(tp, record, views)[0]) for tp in tps)
    return {tp: leader for tp, leader in known if leader >= 0}


def read_group(brokers: Brokers, group: str, leaders: Leaders) -> GroupReading:
    """Returns the answers about the group; `leaders` returns the leaders of partitions."""
    taken_at = time.time()
    asked = _InDepth(brokers, group)
    named = asked.named()
    broker = named.broker if named is not None else None
    line = brokers.lines.get(broker) if broker is not None else None
    described = offsets = None
    if line is not None:
        described = asked.described(line)
        shared = described is not None and described.group_type == SHARE_GROUP
        offsets = asked.start_offsets(line) if shared else asked.offsets(line, described)
    elif broker is not None:
        asked.errors["coordinator"] = f"broker {broker} does not respond to kfix"
    chosen = dict(list((offsets or {}).items())[:MOST_PARTITIONS])
    led = leaders(chosen)
    logs, problems = _logs(brokers, led)
    partitions = {tp: _partition(each, logs.get(tp)) for tp, each in chosen.items()}
    partitions |= _marked(brokers, partitions, led)
    return GroupReading(
        group=group,
        taken_at=taken_at,
        coordinator=broker,
        endpoint=named.endpoint if named is not None else None,
        unconnected=_unconnected(brokers, named.endpoint) if named is not None else None,
        state=described.state if described is not None else "",
        kind=described.kind if described is not None else "",
        members=described.members if described is not None else None,
        partitions=None if offsets is None else partitions,
        left_out=len(offsets or ()) - len(chosen),
        held=_held(brokers, partitions, led),
        errors=asked.errors | problems,
        group_type=described.group_type if described is not None else "",
        epoch=described.epoch if described is not None else None,
    )


def read_positions(brokers: Brokers, coordinators: Mapping[str, int], leaders: Leaders) -> tuple[GroupReading, ...]:
    """Returns the committed offsets of groups and the ends of their logs; `coordinators` are {group: broker}.

    State and members are not read. A group without an answer has its error, and `partitions` is None.
    """
    taken_at = time.time()
    offsets, errors = _all_offsets(brokers, coordinators)
    shown = _within(offsets, MOST_POSITIONS)
    led = leaders({tp for committed in shown.values() for tp in committed})
    logs, _ = _logs(brokers, led)
    partitions = {name: {tp: _partition(c, logs.get(tp)) for tp, c in found.items()} for name, found in shown.items()}
    held = _held(brokers, {tp: each for found in partitions.values() for tp, each in found.items()}, led)
    return tuple(
        GroupReading(
            group=name,
            taken_at=taken_at,
            coordinator=broker,
            endpoint=None,
            unconnected=None,
            partitions=partitions.get(name),
            left_out=len(offsets.get(name, ())) - len(partitions.get(name, ())),
            held={tp: held[tp] for tp in partitions.get(name, ()) if tp in held},
            errors={"group offsets": errors[name]} if name in errors else {},
        )
        for name, broker in coordinators.items()
    )


def _all_offsets(brokers: Brokers, coordinators: Mapping[str, int]) -> tuple[dict[str, _Committed], dict[str, str]]:
    """Returns the committed offsets of each group, and why the other groups' offsets are unknown."""
    led = by_broker((broker, name) for name, broker in coordinators.items())

    def ask(line: BrokerConnection, names: tuple[str, ...], deadline: Deadline) -> list[tuple[int, _Committed]]:
        return line.call_many([group_messages.offset_fetch(name) for name in names], deadline)

    answers = brokers.each("group offsets broker", led, ask)
    found: dict[str, _Committed] = {}
    errors: dict[str, str] = {}
    for broker in led.keys() - answers.found.keys():
        errors |= dict.fromkeys(led[broker], answers.errors.get(broker, f"broker {broker} does not respond to kfix"))
    for broker, rows in answers.found.items():
        for name, (error, committed) in zip(led[broker], rows, strict=True):
            if error:
                errors[name] = f"OffsetFetch: {name_of(error)}"
            else:
                found[name] = {tp: committed[tp] for tp in sorted(committed)}
    return found, errors


@dataclass(frozen=True, slots=True)
class _InDepth:
    """The requests about one group; `errors` are {what was asked: why it is unknown}."""

    brokers: Brokers
    group: str
    errors: dict[str, str] = field(default_factory=dict)

    def _asked(self, name: str, ask: Callable[[], T]) -> T | None:
        answer, error = self.brokers.once(name, ask)
        if error:
            self.errors[name] = error
        return answer

    def named(self) -> FoundCoordinator | None:
        """Returns the coordinator that the first broker with an answer names."""
        request = group_messages.find_coordinator(self.group)

        def ask() -> FoundCoordinator:
            error = UnreachableError("no broker responds")
            for line in self.brokers.lines.values():
                try:
                    found = line.call(request, self.brokers.deadline)
                except UnreachableError as problem:
                    error = problem
                    continue
                if found.error == 0:
                    return found
                error = UnreachableError(name_of(found.error))
            raise error

        return self._asked("group coordinator", ask)

    def described(self, line: BrokerConnection) -> GroupDescription | None:
        def ask() -> GroupDescription:
            found = ask_group_description(line, self.group, self.brokers.deadline)
            if found.error:
                raise UnreachableError(f"{described_by(found.group_type)}: {name_of(found.error)}")
            return found

        return self._asked("group members", ask)

    def offsets(self, line: BrokerConnection, described: GroupDescription | None) -> _Committed | None:
        """Returns the committed offsets, including assigned partitions; stable ones if the broker can return them."""
        group, deadline = self.group, self.brokers.deadline

        def ask() -> _Committed:
            error, found = line.call(group_messages.offset_fetch(group), deadline)
            if error:
                raise UnreachableError(f"OffsetFetch: {name_of(error)}")
            members = (described.members if described is not None else None) or ()
            assigned = {tp for member in members for tp in member.assigned}
            committed = dict.fromkeys(sorted(assigned | found.keys()), _UNREAD) | found
            named = tuple(sorted(committed)[:MOST_PARTITIONS])
            if not line.supports(group_messages.OFFSET_FETCH, group_messages.STABLE_OFFSETS, deadline):
                self.errors["stable offsets"] = "brokers before 2.5 cannot be asked for stable offsets"
            elif named:
                error, stable = line.call(group_messages.stable_offset_fetch(group, named), deadline)
                # An offset that is refused with 88 was committed before; it stays known.
                refused = {tp: CommittedOffset(s.error, committed[tp].offset) for tp, s in stable.items() if s.error}
                committed |= {} if error else refused
                if error:
                    self.errors["stable offsets"] = f"OffsetFetch: {name_of(error)}"
            return {tp: committed[tp] for tp in sorted(committed)}

        return self._asked("group offsets", ask)

    def start_offsets(self, line: BrokerConnection) -> _Committed | None:
        """Returns where a share group starts to read; it commits no offsets."""

        def ask() -> _Committed:
            error, found = line.call(describe_share_offsets(self.group), self.brokers.deadline)
            if error:
                raise UnreachableError(f"DescribeShareGroupOffsets: {name_of(error)}")
            return {tp: found[tp] for tp in sorted(found)}

        return self._asked("group offsets", ask)


def _unconnected(brokers: Brokers, endpoint: Endpoint) -> str:
    """Returns why the address does not accept a connection, or ""; resolving its name has a timeout, too."""

    def ask() -> str:
        try:
            connected(endpoint, _CONNECT_SECONDS).close()
        except (OSError, UnicodeError) as error:
            return plain_reason(error)
        return ""

    answer, _ = brokers.within(_CONNECT_SECONDS).once("group address", ask)
    return "no answer in time" if answer is None else answer


def _logs(
    brokers: Brokers, leaders: Mapping[TopicPartition, int]
) -> tuple[dict[TopicPartition, _Bounds], dict[str, str]]:
    """Returns {partition: (log start, high watermark, last stable offset)}, and the error of a leader if one failed."""
    led = by_broker((leader, tp) for tp, leader in leaders.items())

    answers = brokers.each("group logs broker", led, ask_bounds)
    found = {tp: tuple(each.get(tp) for each in bounds) for b, bounds in answers.found.items() for tp in led[b]}
    return found, {"group logs": list(answers.errors.values())[-1]} if answers.errors else {}


def _held(
    brokers: Brokers, partitions: Mapping[TopicPartition, GroupPartition], leaders: Mapping[TopicPartition, int]
) -> dict[TopicPartition, OpenBatch]:
    """Returns the batches at last stable offsets below the end, of at most `MOST_HELD` partitions."""
    stable = {tp: each.stable for tp, each in partitions.items() if 0 <= each.stable < each.end}
    led = by_broker((leaders[tp], tp) for tp in sorted(stable)[:MOST_HELD])
    asked = {b: {tp: stable[tp] for tp in tps} for b, tps in led.items()}
    answers = brokers.each("open transactions broker", asked, ask_open_batches)
    found = {tp: batch for batches in answers.found.values() for tp, batch in batches.items()}
    return found | {
        tp: OpenBatch(offset, -1, -1, -1, error)
        for broker, error in answers.errors.items()
        for tp, offset in asked[broker].items()
    }


def _marked(
    brokers: Brokers, partitions: Mapping[TopicPartition, GroupPartition], leaders: Mapping[TopicPartition, int]
) -> dict[TopicPartition, GroupPartition]:
    """Returns the partitions in which only markers of transactions are left to read, of at most `MOST_HELD`."""
    behind = [tp for tp, each in sorted(partitions.items()) if 0 < (each.lag or 0) <= _MOST_MARKERS and tp in leaders]
    led = by_broker((leaders[tp], tp) for tp in behind[:MOST_HELD])
    asked = {b: {tp: (partitions[tp].committed, partitions[tp].end) for tp in tps} for b, tps in led.items()}
    answers = brokers.each("transaction markers broker", asked, ask_only_markers)
    return {tp: partitions[tp]._replace(only_markers=True) for tps in answers.found.values() for tp in tps}


def _within(offsets: Mapping[str, _Committed], most: int) -> dict[str, _Committed]:
    """Returns at most this many partitions of the groups, first groups first; a group without any is left out."""
    left, found = most, dict[str, _Committed]()
    for name, committed in offsets.items():
        if committed and left <= 0:
            break
        found[name] = dict(list(committed.items())[:left])
        left -= len(found[name])
    return found


def _partition(committed: CommittedOffset, bounds: _Bounds | None) -> GroupPartition:
    start, end, stable = bounds or (None, None, None)
    if start is None or end is None or stable is None:
        return GroupPartition(committed.offset, committed.error, -1, -1, -1, "not read")
    error = start.error or end.error or stable.error
    if error:
        return GroupPartition(committed.offset, committed.error, -1, -1, -1, name_of(error))
    return GroupPartition(committed.offset, committed.error, start.offset, end.offset, stable.offset, "")


# State and members of the groups that a broker lists, by the request of each group's type.

#: Most groups that are described per broker, so that 100 000 groups do not take a minute.
MOST_DESCRIBED = 1000
#: The types whose groups DescribeGroups calls Dead. The members of a streams group are not read.
_OTHERS = (CONSUMER_GROUP, SHARE_GROUP)


def describe_listed(
    line: BrokerConnection, listed: Sequence[ListedGroup], deadline: Deadline
) -> list[GroupDescription]:
    """Returns the groups that the broker described without an error."""
    chosen = listed[:MOST_DESCRIBED]
    typed = {kind: [each.name for each in chosen if each.type == kind] for kind in _OTHERS}
    rest = tuple(each.name for each in chosen if each.type not in {*_OTHERS, STREAMS_GROUP})
    found = line.call(group_messages.describe_groups(rest), deadline) if rest else []
    # A broker that lists no types may still have groups of the consumer protocol (3.7).
    untyped = {each.name for each in chosen if not each.type}
    doubtful = [each.name for each in found if not each.error and each.state == DEAD and each.name in untyped]
    found = [each for each in found if not each.error]
    for kind in _OTHERS:
        names = [*typed[kind], *doubtful]
        described = ask_typed(line, kind, names, deadline) if names else None
        answered = {each.name: each for each in described or () if not each.error}
        found = [each for each in found if each.name not in answered]
        found += answered.values()
        refused = {each.name for each in described or () if each.error not in {0, NOT_FOUND}}
        # A group that kfix may not read as this type is unknown, not dead.
        found = [each for each in found if each.name not in refused]
    return found


def as_groups(
    listed: Mapping[int, Sequence[ListedGroup]], described: Mapping[str, GroupDescription]
) -> tuple[Group, ...]:
    """Returns every listed group, sorted by name, with state and members if it was described."""
    listers: dict[str, list[int]] = {}
    types: dict[str, str] = {}
    for broker, groups in listed.items():
        for each in groups:
            listers.setdefault(each.name, []).append(broker)
            types[each.name] = each.type or types.get(each.name, "")
    return tuple(
        Group(name, tuple(sorted(brokers)), d.state, _members(d), types[name])
        if (d := described.get(name)) is not None
        else Group(name, tuple(sorted(brokers)), group_type=types[name])
        for name, brokers in sorted(listers.items())
    )


def _members(group: GroupDescription) -> tuple[str, ...]:
    return tuple(f"{each.client}{each.host}" for each in group.members or ())


# The members of one group as its coordinator lists them, and the members of its last generation from the log.


def ask_members(line: BrokerConnection, group: str, deadline: Deadline) -> GroupMembers:
    """Returns state and members of a group, from its coordinator. Raises UnreachableError if the broker refuses."""
    found = ask_group_description(line, group, deadline)
    request = described_by(found.group_type)
    if found.error:
        raise UnreachableError(f"{line.endpoint}: group {group}: {request}: {name_of(found.error)}")
    if found.members is None:
        raise UnreachableError(f"{line.endpoint}: group {group}: {request}: kfix does not read these members")
    return GroupMembers(group, found.state, found.members, found.epoch)


def read_last_generation(line: BrokerConnection, group: str, tp: TopicPartition, deadline: Deadline) -> LastGeneration:
    """Reads the end of the log of the group's offsets partition; unknown unless it was read to its end."""
    parts, *_ = ask_parts(line, (tp,), (), (tp.partition,), deadline)
    for part in parts:
        found, end, error = read_records(line, part, deadline)
        if name_of(TOPIC) in error:
            raise UnreachableError(f"{line.endpoint}: {tp}: {error}")
        recorded = found.groups.get(group)
        if recorded is not None and recorded.member_ids and end >= part.log_end and not error:
            # A truncated list would exclude members of the generation.
            every = len(recorded.member_ids) == recorded.members
            return LastGeneration(recorded.generation, frozenset(recorded.member_ids if every else ()))
    return LastGeneration()
