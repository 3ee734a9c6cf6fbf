"""Reads consumer groups: one in depth (coordinator's address, members, offsets, their logs), the others' offsets.

In depth it reads at most `MOST_PARTITIONS` partitions of a group; each request fails alone, and its error is kept. The
offsets of all groups take one request per group, pipelined to its coordinator, and three per leader: two round trips.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kfix.core.collect.tasks import Questions
from kfix.core.collect.transactions import MOST_HELD, ask_open_batches
from kfix.core.deadline import Deadline
from kfix.core.endpoint import connected, plain_reason
from kfix.core.errors import UnreachableError
from kfix.core.kafka import group_messages, requests
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_messages import CommittedOffset, FoundCoordinator, GroupDescription
from kfix.core.kafka.new_groups import ask_group_description, describe_share_offsets
from kfix.core.kafka.requests import PartitionOffset
from kfix.core.snapshot.group_reading import SHARE_GROUP, GroupPartition, GroupReading, described_by
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import BrokerView, Endpoint, TopicPartition
from kfix.core.snapshot.transactions import OpenBatch

T = TypeVar("T")
MOST_PARTITIONS = 1000
#: Most groups whose offsets a plain snapshot reads, most of their partitions, and most rebalancing ones read in depth.
MOST_GROUPS, MOST_POSITIONS, MOST_REBALANCING = 500, 5000, 5
#: Timeout in seconds for a connection to a coordinator's address, which a firewall may never answer.
_CONNECT_SECONDS = 1.5
_UNREAD = CommittedOffset(0, -1)
_EACH = ((requests.EARLIEST, 0), (requests.LATEST, 0), (requests.LATEST, 1))
_Bounds = tuple[PartitionOffset | None, ...]


def leaders_of(
    tps: Iterable[TopicPartition], record: ClusterRecord | None, views: Mapping[int, BrokerView]
) -> dict[TopicPartition, int]:
    """Returns {partition: leader}, from the record or the newest metadata; partitions without a leader are missing."""
    found = {}
    for tp in tps:
        state = record.states.get(tp) if record is not None else None
        seen = [view.partitions[tp] for view in views.values() if tp in view.partitions]
        newest = max(seen, key=lambda each: each.leader_epoch, default=None)
        leader = state.leader if state is not None else newest.leader if newest is not None else -1
        if leader >= 0:
            found[tp] = leader
    return found


@dataclass(slots=True)
class GroupQuestions:
    """Requests about groups over the connections of a snapshot, `connections` by broker."""

    questions: Questions
    connections: Mapping[int, BrokerConnection]
    deadline: Deadline
    _errors: dict[str, str] = field(default_factory=dict)

    def read(
        self, group: str, leaders: Callable[[Iterable[TopicPartition]], Mapping[TopicPartition, int]]
    ) -> GroupReading:
        """Returns the answers about the group; `leaders` returns the leaders of partitions."""
        self._errors = {}
        taken_at = time.time()
        named = self._named(group)
        broker = named.broker if named is not None else None
        line = self.connections.get(broker) if broker is not None else None
        described = offsets = None
        if line is not None:
            described = self._described(line, group)
            shared = described is not None and described.group_type == SHARE_GROUP
            offsets = self._start_offsets(line, group) if shared else self._offsets(line, group, described)
        elif broker is not None:
            self._errors["coordinator"] = f"broker {broker} does not respond to kfix"
        chosen = dict(list((offsets or {}).items())[:MOST_PARTITIONS])
        led = leaders(chosen)
        logs = self._logs(led)
        partitions = {tp: _partition(each, logs.get(tp)) for tp, each in chosen.items()}
        return GroupReading(
            group=group,
            taken_at=taken_at,
            coordinator=broker,
            endpoint=named.endpoint if named is not None else None,
            unconnected=self._unconnected(named.endpoint) if named is not None else None,
            state=described.state if described is not None else "",
            kind=described.kind if described is not None else "",
            members=described.members if described is not None else None,
            partitions=None if offsets is None else partitions,
            left_out=len(offsets or ()) - len(chosen),
            held=self._held({tp: each.stable for tp, each in partitions.items() if 0 <= each.stable < each.end}, led),
            errors=dict(self._errors),
            group_type=described.group_type if described is not None else "",
            epoch=described.epoch if described is not None else None,
        )

    def read_positions(
        self,
        coordinators: Mapping[str, int],
        leaders: Callable[[Iterable[TopicPartition]], Mapping[TopicPartition, int]],
    ) -> tuple[GroupReading, ...]:
        """Returns the committed offsets of groups and the ends of their logs; `coordinators` are {group: broker}.

        State and members are not read. A group without an answer has its error, and `partitions` is None.
        """
        taken_at = time.time()
        offsets, errors = self._all_offsets(coordinators)
        shown = _within(offsets, MOST_POSITIONS)
        led = leaders({tp for committed in shown.values() for tp in committed})
        logs = self._logs(led)
        partitions = {
            name: {tp: _partition(c, logs.get(tp)) for tp, c in found.items()} for name, found in shown.items()
        }
        ends = {tp: each for found in partitions.values() for tp, each in found.items()}
        held = self._held({tp: each.stable for tp, each in ends.items() if 0 <= each.stable < each.end}, led)
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

    def _all_offsets(
        self, coordinators: Mapping[str, int]
    ) -> tuple[dict[str, dict[TopicPartition, CommittedOffset]], dict[str, str]]:
        """Returns the committed offsets of each group, and why the other groups' offsets are unknown."""
        led: dict[int, list[str]] = {}
        for name, broker in coordinators.items():
            led.setdefault(broker, []).append(name)

        def ask(broker: int) -> Callable[[], list[tuple[int, dict[TopicPartition, CommittedOffset]]]]:
            fetches = [group_messages.offset_fetch(name) for name in led[broker]]
            line = self.connections[broker]
            return lambda: line.call_many(fetches, self.deadline)

        tasks = {b: self.questions.start(f"group offsets broker {b}", ask(b)) for b in led if b in self.connections}
        found: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        errors = {name: f"broker {b} does not respond to kfix" for b in led.keys() - tasks.keys() for name in led[b]}
        for broker, task in tasks.items():
            answers = task.result(self.deadline)
            if answers is None:
                errors |= dict.fromkeys(led[broker], task.error)
                continue
            for name, (error, committed) in zip(led[broker], answers, strict=True):
                if error:
                    errors[name] = f"OffsetFetch: {name_of(error)}"
                else:
                    found[name] = {tp: committed[tp] for tp in sorted(committed)}
        return found, errors

    def _asked(self, name: str, ask: Callable[[], T]) -> T | None:
        """Returns the answer, or None with the error in `_errors`."""
        task = self.questions.start(name, ask)
        answer = task.result(self.deadline)
        if task.error:
            self._errors[name] = task.error
        return answer

    def _named(self, group: str) -> FoundCoordinator | None:
        """Returns the coordinator that the first broker with an answer names."""
        request = group_messages.find_coordinator(group)

        def ask() -> FoundCoordinator:
            error = UnreachableError("no broker responds")
            for line in self.connections.values():
                try:
                    found = line.call(request, self.deadline)
                except UnreachableError as problem:
                    error = problem
                    continue
                if found.error == 0:
                    return found
                error = UnreachableError(name_of(found.error))
            raise error

        return self._asked("group coordinator", ask)

    def _unconnected(self, endpoint: Endpoint) -> str:
        """Returns why the address does not accept a connection, or ""; resolving its name has a timeout, too."""

        def ask() -> str:
            try:
                connected(endpoint, _CONNECT_SECONDS).close()
            except (OSError, UnicodeError) as error:
                return plain_reason(error)
            return ""

        answer = self.questions.start("group address", ask).result(self.deadline.within(_CONNECT_SECONDS))
        return "no answer in time" if answer is None else answer

    def _described(self, line: BrokerConnection, group: str) -> GroupDescription | None:
        def ask() -> GroupDescription:
            found = ask_group_description(line, group, self.deadline)
            if found.error:
                raise UnreachableError(f"{described_by(found.group_type)}: {name_of(found.error)}")
            return found

        return self._asked("group members", ask)

    def _offsets(
        self, line: BrokerConnection, group: str, described: GroupDescription | None
    ) -> dict[TopicPartition, CommittedOffset] | None:
        """Returns the committed offsets, including assigned partitions; stable ones if the broker can return them."""

        def ask() -> dict[TopicPartition, CommittedOffset]:
            error, found = line.call(group_messages.offset_fetch(group), self.deadline)
            if error:
                raise UnreachableError(f"OffsetFetch: {name_of(error)}")
            assigned = (
                {tp for member in described.members or () for tp in member.assigned} if described is not None else set()
            )
            committed = dict.fromkeys(sorted(assigned | found.keys()), _UNREAD) | found
            named = tuple(sorted(committed)[:MOST_PARTITIONS])
            if not line.supports(group_messages.OFFSET_FETCH, group_messages.STABLE_OFFSETS, self.deadline):
                self._errors["stable offsets"] = "brokers before 2.5 cannot be asked for stable offsets"
            elif named:
                request = group_messages.stable_offset_fetch(group, named)
                error, stable = line.call(request, self.deadline)
                # An offset that is refused with 88 was committed before; it stays known.
                refused = {tp: CommittedOffset(s.error, committed[tp].offset) for tp, s in stable.items() if s.error}
                committed |= {} if error else refused
                if error:
                    self._errors["stable offsets"] = f"OffsetFetch: {name_of(error)}"
            return {tp: committed[tp] for tp in sorted(committed)}

        return self._asked("group offsets", ask)

    def _start_offsets(self, line: BrokerConnection, group: str) -> dict[TopicPartition, CommittedOffset] | None:
        """Returns where a share group starts to read; it commits no offsets."""

        def ask() -> dict[TopicPartition, CommittedOffset]:
            error, found = line.call(describe_share_offsets(group), self.deadline)
            if error:
                raise UnreachableError(f"DescribeShareGroupOffsets: {name_of(error)}")
            return {tp: found[tp] for tp in sorted(found)}

        return self._asked("group offsets", ask)

    def _logs(self, leaders: Mapping[TopicPartition, int]) -> dict[TopicPartition, _Bounds]:
        """Returns {partition: (log start, high watermark, last stable offset)} of the partitions that have a leader."""
        led: dict[int, list[TopicPartition]] = {}
        for tp, leader in leaders.items():
            if leader in self.connections:
                led.setdefault(leader, []).append(tp)
        tasks = {b: self.questions.start(f"group logs broker {b}", self._bounds(b, tuple(led[b]))) for b in led}
        found: dict[TopicPartition, _Bounds] = {}
        for broker, task in tasks.items():
            answers = task.result(self.deadline)
            if answers is None:
                self._errors["group logs"] = task.error
            else:
                found |= {tp: tuple(each.get(tp) for each in answers) for tp in led[broker]}
        return found

    def _held(
        self, stable: Mapping[TopicPartition, int], leaders: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OpenBatch]:
        """Returns the batches at these last stable offsets, of at most `MOST_HELD` partitions."""
        starts: dict[int, dict[TopicPartition, int]] = {}
        for tp in sorted(stable)[:MOST_HELD]:
            starts.setdefault(leaders[tp], {})[tp] = stable[tp]
        tasks = {
            b: self.questions.start(
                f"open transactions broker {b}",
                lambda b=b: ask_open_batches(self.connections[b], starts[b], self.deadline),  # type: ignore[misc]
            )
            for b in starts
        }
        found: dict[TopicPartition, OpenBatch] = {}
        for broker, task in tasks.items():
            answer = task.result(self.deadline)
            unread = {tp: OpenBatch(offset, -1, -1, -1, task.error) for tp, offset in starts[broker].items()}
            found |= unread if answer is None else answer
        return found

    def _bounds(
        self, broker: int, tps: tuple[TopicPartition, ...]
    ) -> Callable[[], list[dict[TopicPartition, PartitionOffset]]]:
        asked = [
            requests.list_offsets(tps, when, replica=requests.CONSUMER, isolation=isolation)
            for when, isolation in _EACH
        ]
        return lambda: self.connections[broker].call_many(asked, self.deadline)


def _within(
    offsets: Mapping[str, Mapping[TopicPartition, CommittedOffset]], most: int
) -> dict[str, dict[TopicPartition, CommittedOffset]]:
    """Returns at most this many partitions of the groups, first groups first; a group without any is left out."""
    left, found = most, dict[str, dict[TopicPartition, CommittedOffset]]()
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
