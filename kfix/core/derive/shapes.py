"""The partitions of a snapshot, grouped by shape: what the sources record of them apart from version and time.

A cluster of 100 000 partitions has some hundred shapes. A condition is evaluated once per shape, and only partitions
whose shape meets it become rows. The answers are the same as from `SnapshotPartitions`, which makes every row
(tests/unit/core/derive/test_shapes.py compares both on random clusters).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from operator import attrgetter

from kfix.core.criteria import EXPECTED, Expected
from kfix.core.derive.background import Background, leavings, replica_counts
from kfix.core.derive.coordinator import INTERNAL_TOPICS
from kfix.core.derive.liveness import Left
from kfix.core.derive.partition_facts import PartitionFacts, Recorded, Times, derive
from kfix.core.derive.partitions import LazyRows, Partitions, Rows, SnapshotPartitions
from kfix.core.derive.predicate import Matcher, Predicate, compile_all, loosened
from kfix.core.derive.vantage import distinct
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition

#: The facts of a row that its shape does not determine.
OWN_FACTS = frozenset({"topic", "partition", "zk_version", "state_age", "stable_for"})
_FIELDS = PartitionFacts._fields
_VERSION, _AGE, _STABLE = (_FIELDS.index(name) for name in ("zk_version", "state_age", "stable_for"))


@dataclass(slots=True, eq=False)
class Shape:
    """Partitions of one shape. `row` is the first partition's."""

    row: PartitionFacts
    times: Times
    tps: list[TopicPartition] = field(default_factory=list)


@dataclass(frozen=True)
class ShapedPartitions:
    """The partitions of a snapshot, as `kfix.core.derive.partitions.Partitions` describes them."""

    snapshot: Snapshot
    background: Background
    expected: Expected = EXPECTED

    @cached_property
    def _recorded(self) -> Recorded:
        return Recorded(self.snapshot, self.background)

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        recorded = self._recorded
        found: dict[Hashable, Shape] = {}
        for key, tp in _keyed(self.snapshot, recorded):
            shape = found.get(key)
            if shape is None:
                shape = found[key] = Shape(*recorded.row(tp))
            shape.tps.append(tp)
        return tuple(found.values())

    def __len__(self) -> int:
        return sum(len(shape.tps) for shape in self.shapes)

    @cached_property
    def topics(self) -> int:
        return len({tp.topic for shape in self.shapes for tp in shape.tps})

    @cached_property
    def leads(self) -> Mapping[int, int]:
        return self._total("leader")

    @cached_property
    def preferred(self) -> Mapping[int, int]:
        return self._total("preferred")

    def _total(self, fact: str) -> Mapping[int, int]:
        found: Counter[int] = Counter()
        value = attrgetter(fact)
        for shape in self.shapes:
            found[value(shape.row)] += len(shape.tps)
        return found

    @cached_property
    def holds(self) -> Mapping[int, int]:
        return replica_counts(self.snapshot)

    @cached_property
    def samples(self) -> Rows:
        return sorted(shape.row for shape in self.shapes)

    @cached_property
    def _left(self) -> Mapping[int, Left]:
        return leavings(self.snapshot, chain.from_iterable(s.tps for s in self.shapes if self._lacks(s.tps[0])))

    def _lacks(self, tp: TopicPartition) -> bool:
        """Returns whether ZooKeeper's record of the partition lacks a replica in the ISR, or a leader."""
        state, assignment = self._recorded.states.get(tp), self._recorded.assigned.get(tp)
        if state is None or assignment is None:
            return False
        return state.leader < 0 or any(broker not in state.isr for broker in assignment.replicas)

    def left(self, broker: int) -> Left:
        return self._left.get(broker, Left())

    def count(self, condition: Predicate) -> int:
        if condition.names & OWN_FACTS:
            return len(self._picked(condition))
        return sum(len(shape.tps) for shape in self._meeting(condition))

    def where(self, condition: Predicate) -> Rows:
        return LazyRows(lambda: self._picked(condition))

    def candidates(self, conditions: Sequence[Predicate]) -> Rows:
        shapes = {id(shape): shape for condition in conditions for shape in self._meeting(condition)}
        return sorted(chain.from_iterable(map(self._rows, shapes.values())))

    def _picked(self, condition: Predicate) -> Rows:
        rows = sorted(chain.from_iterable(map(self._rows, self._meeting(condition))))
        if condition.names & OWN_FACTS:
            [rows] = _matcher(condition)(rows, self.expected)
        return rows

    def _meeting(self, condition: Predicate) -> Iterator[Shape]:
        """Yields the shapes of which a partition may meet the condition."""
        [met] = _matcher(_without_own_facts(condition))(self._by_row, self.expected)
        return (self._by_row[row] for row in met)

    @cached_property
    def _by_row(self) -> dict[PartitionFacts, Shape]:
        return {shape.row: shape for shape in self.shapes}

    @cached_property
    def _made(self) -> dict[int, list[PartitionFacts]]:
        return {}

    def _rows(self, shape: Shape) -> list[PartitionFacts]:
        made = self._made.get(id(shape))
        if made is None:
            states, known, times = self._recorded.states, self.background, shape.times
            values, made = list(shape.row), []
            for tp in shape.tps:
                values[0], values[1] = tp
                values[_VERSION], values[_AGE], values[_STABLE] = times.of(states.get(tp), known)
                made.append(PartitionFacts._make(values))
            self._made[id(shape)] = made
        return made


def _keyed(snapshot: Snapshot, recorded: Recorded) -> Iterator[tuple[Hashable, TopicPartition]]:
    """Yields each partition with its shape: equal keys make equal rows, apart from `OWN_FACTS`."""
    states, assigned, moving, asked = recorded.states, recorded.assigned, recorded.moving, recorded.asked
    views, _ = distinct(snapshot.views)
    moves = bool(moving or asked)
    only = views[0] if len(views) == 1 else None
    kinds: dict[str, Hashable] = {}
    for source in _in_turn(assigned, states, *views):
        for tp in source:
            topic = tp[0]
            kind = kinds.get(topic)
            if kind is None:
                kind = kinds[topic] = _kind(topic, recorded)
            state = states.get(tp)
            record = None if state is None else state[:3]
            seen = only.get(tp) if only is not None else tuple([each.get(tp) for each in views])
            move = (moving.get(tp), tp in asked) if moves else None
            yield (kind, assigned.get(tp), record, seen, move, recorded.readable(tp)), tp


def _in_turn(*sources: Mapping[TopicPartition, object]) -> Iterator[Iterator[TopicPartition]]:
    """Yields the partitions of each source that no source before it has."""
    before: list[Mapping[TopicPartition, object]] = []
    for source in sources:
        if before and not any(source.keys() <= other.keys() for other in before):
            yield iter([tp for tp in source if not any(tp in other for other in before)])
        elif not before:
            yield iter(source)
        if source:
            before.append(source)


def _kind(topic: str, recorded: Recorded) -> Hashable:
    """Returns the inputs of a row that are the same for all partitions of a topic."""
    internal = topic if topic in INTERNAL_TOPICS else ""
    return internal, topic in recorded.deleting, recorded.unread(topic), recorded.known.settings.own(topic)


@cache
def _matcher(condition: Predicate) -> Matcher:
    return compile_all([condition])


@cache
def _without_own_facts(condition: Predicate) -> Predicate:
    return loosened(condition, OWN_FACTS)


def partitions_in(snapshot: Snapshot, background: Background, expected: Expected) -> Partitions:
    """Returns the partitions of a snapshot. A pasted text is small, and names observers partition by partition."""
    if snapshot.pasted is not None:
        return SnapshotPartitions(snapshot, derive(snapshot, background), expected)
    return ShapedPartitions(snapshot, background, expected)
