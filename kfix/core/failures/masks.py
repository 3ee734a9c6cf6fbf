"""The partitions of a snapshot as bitmasks, equal ones together: the input of `kfix.core.failures.rules`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.elections import unclean_by_default, unclean_elsewhere, unclean_of
from kfix.core.derive.partition_facts import partitions_of
from kfix.core.derive.record import record_of
from kfix.core.derive.settings import unread_topics
from kfix.core.failures.rules import NO, NONE, UNREAD, YES, PartitionMasks
from kfix.core.failures.scenarios import unknown_of, voters_of
from kfix.core.numbers import whole_number
from kfix.core.snapshot.snapshot import NO_LEADER, Mode, PartitionState, PartitionView, Snapshot, TopicPartition

_FLAGS: Final = {True: YES, False: NO, None: UNREAD}
_MIN_ISR, _UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
#: {bit of a broker: its value}; UNREAD where it is unknown.
_Setting = Callable[[str, int], int]


@dataclass(frozen=True, slots=True)
class ClusterMasks:
    """All partitions that are not being deleted. `unjudged`: no source has both leader and replicas of these."""

    bits: Mapping[int, int]
    live: frozenset[int]
    controller: int | None
    rows: Mapping[PartitionMasks, tuple[TopicPartition, ...]]
    unjudged: tuple[TopicPartition, ...]

    @property
    def controller_bit(self) -> int:
        """The bit of a live controller; NONE if there is none or it is unknown."""
        return self.bits[self.controller] if self.controller is not None and self.controller in self.live else NONE

    def mask(self, brokers: frozenset[int]) -> int:
        return sum(self.bits[broker] for broker in brokers)

    def brokers(self, mask: int) -> tuple[int, ...]:
        return tuple(broker for broker, bit in self.bits.items() if bit & mask)

    def ordered(self, bits: tuple[int, ...]) -> tuple[int, ...]:
        names = {bit: broker for broker, bit in self.bits.items()}
        return tuple(names[bit] for bit in bits)


def masks_of(case: CaseFile, live: frozenset[int]) -> ClusterMasks:
    """Returns the partitions of a snapshot; `live` are its live brokers."""
    maker = _Maker(case, live)
    rows: dict[PartitionMasks, list[TopicPartition]] = {}
    unjudged = []
    for tp in partitions_of(case.snapshot):
        if tp.topic in maker.deleting:
            continue
        row = maker.row(tp)
        if row is None:
            unjudged.append(tp)
        else:
            rows.setdefault(row, []).append(tp)
    made = {row: tuple(tps) for row, tps in rows.items()}
    return ClusterMasks(maker.bits, live, maker.controller, made, tuple(unjudged))


class _Maker:
    def __init__(self, case: CaseFile, live: frozenset[int]) -> None:
        snapshot = case.snapshot
        self.case = case
        self.live = live
        self.record = case.zookeeper_rules
        self.releases = case.background.settings.releases
        self.controller = _controller(snapshot)
        record = record_of(snapshot)
        self.deleting = record.deleting if record is not None else frozenset[str]()
        self.bits = {broker: 1 << n for n, broker in enumerate(sorted(_brokers(case)))}
        self.min_isr, unclean = _min_isr_of(snapshot), _unclean_of(snapshot)
        others = live - {self.controller}
        self.zookeeper = self.record or (snapshot.zookeeper is None and snapshot.cluster.mode is Mode.ZOOKEEPER)
        #: Once a KRaft controller has taken over from ZooKeeper, its own setting counts, and is not read.
        self.unclean: _Setting = unclean if self.zookeeper else _unread
        self.quorum = None if snapshot.zookeeper is not None else snapshot.quorum
        #: Of the active controller, and of its successor.
        self.unclean_defaults = (unclean_by_default(snapshot), unclean_elsewhere(snapshot))
        self.in_office = tuple(sorted(live)) if self.controller is None else (self.controller,)
        self.later = tuple(sorted(others))
        self.settings: dict[str, tuple[Mapping[int, int], int, int]] = {}

    def row(self, tp: TopicPartition) -> PartitionMasks | None:
        state = self.case.state(tp) if self.record else None
        view = self._believed(tp)
        replicas = self.case.assignment(tp).replicas
        recorded: PartitionState | PartitionView | None = state if self.record else view
        if recorded is None or not replicas or min(replicas) < 0 or recorded.leader < NO_LEADER:
            return None
        leaders = {recorded.leader} if view is None else {recorded.leader, view.leader}
        away = frozenset(view.offline) if view is not None else frozenset[int]()
        online = (self.live - away | ({recorded.leader} & self.live)) & {*replicas, *recorded.isr, *leaders}
        if not self.zookeeper and recorded.leader == NO_LEADER:
            online = frozenset()  # A KRaft controller elects for a partition only if one of its own replicas changes.
        min_isr, unclean, later = self._settings(tp.topic)
        needed = tuple(self.releases.needed(min_isr[b], b, len(replicas)) for b in replicas)
        return PartitionMasks(
            tuple(self.bits[b] for b in replicas),
            self._mask(frozenset(replicas)),
            self._mask(frozenset(recorded.isr)),
            self._mask(frozenset(online)),
            self._bit(recorded.leader),
            self._memory(state, view) if self.record else self._bit(recorded.leader),
            needed,
            unclean,
            later,
            self._eligible(tp, recorded, needed),
        )

    def _eligible(self, tp: TopicPartition, recorded: PartitionState | PartitionView, needed: tuple[int, ...]) -> int:
        """Returns the eligible leader replicas; a partition has none with as many in-sync replicas as it needs."""
        if self.zookeeper or (self.quorum is not None and self.quorum.elr is False):
            return NONE
        if self.quorum is None or self.quorum.elr is None:
            return UNREAD
        if tp in self.quorum.eligible:
            return self._mask(frozenset(self.quorum.eligible[tp].replicas) & self.bits.keys())
        return NONE if UNREAD not in needed and len(recorded.isr) >= max(needed) else UNREAD

    def _settings(self, topic: str) -> tuple[Mapping[int, int], int, int]:
        """Returns {broker: min.insync.replicas if it leads}, and unclean elections now and under a later controller."""
        if topic not in self.settings:
            now, later = (_agreed(self.unclean(topic, b) for b in each) for each in (self.in_office, self.later))
            if self.quorum is not None:
                now, later = (_FLAGS[unclean_of(topic, each, self.case.snapshot)] for each in self.unclean_defaults)
            self.settings[topic] = {b: self.min_isr(topic, b) for b in self.bits}, now, later
        return self.settings[topic]

    def _believed(self, tp: TopicPartition) -> PartitionView | None:
        """Returns the metadata of the controller itself, otherwise the newest: both are the content of its memory."""
        own = self.case.views.get(self.controller) if self.controller is not None else None
        if own is not None and tp in own.partitions:
            return own.partitions[tp]
        return max(self.case.views_of(tp).values(), key=lambda v: v.leader_epoch, default=None)

    def _memory(self, state: PartitionState | None, view: PartitionView | None) -> int:
        if view is None or state is None:
            return UNREAD
        # A broker reports -1 for a leader that it considers dead (docs/facts/metadata.md); the epoch shows the memory.
        masked = view.leader == NO_LEADER and view.leader_epoch == state.leader_epoch
        return self._bit(state.leader if masked else view.leader)

    def _bit(self, broker: int) -> int:
        return self.bits[broker] if broker >= 0 else NONE

    def _mask(self, brokers: frozenset[int]) -> int:
        return sum(self.bits[b] for b in brokers if b >= 0)


def _brokers(case: CaseFile) -> set[int]:
    snapshot = case.snapshot
    found = {*case.assigned, *(case.live or ())}
    views = [p for view in snapshot.views.values() for p in view.partitions.values()]
    for known in (*views, *(snapshot.zookeeper.states.values() if snapshot.zookeeper else ())):
        found |= {known.leader, *known.isr}
    if snapshot.reassignments:
        found |= {b for a in snapshot.reassignments.values() for b in a.replicas}
    return {broker for broker in found if broker >= 0}


def _controller(snapshot: Snapshot) -> int | None:
    """Returns the controller; None if it is unknown. A KRaft broker names any broker as one (docs/facts/kraft.md)."""
    if snapshot.zookeeper is not None:
        return None if snapshot.zookeeper.controller.is_kraft else snapshot.zookeeper.controller.broker
    named = {view.controller for view in snapshot.views.values()}
    known = snapshot.cluster.mode is Mode.ZOOKEEPER and len(named) == 1
    return next(iter(named)) if known and min(named) >= 0 else None


def _min_isr_of(snapshot: Snapshot) -> _Setting:
    text = _setting_of(snapshot, _MIN_ISR)

    def number(topic: str, broker: int) -> int:
        value = text(topic, broker)
        found = None if value is None else whole_number(value)
        return UNREAD if found is None else found

    return number


def _unclean_of(snapshot: Snapshot) -> _Setting:
    text = _setting_of(snapshot, _UNCLEAN)
    return lambda topic, broker: {"true": YES, "false": NO}.get(text(topic, broker) or "", UNREAD)


def _setting_of(snapshot: Snapshot, key: str) -> Callable[[str, int], str | None]:
    """Returns a function of (topic, broker): the topic's own value, otherwise the broker's; None if it is unknown.

    If no record has the topics' own settings, one broker's answer is known for each topic, which may be that broker's
    own default. It holds for all brokers only if they have the same default.
    """
    record = record_of(snapshot)
    settings = record.topic_settings if record is not None else None
    defaults = {b: c[key] for b, c in snapshot.broker_configs.items() if key in c}
    invalid = unread_topics(snapshot)

    def of(topic: str, broker: int) -> str | None:
        if settings is None:
            return snapshot.topic_configs.get(topic, {}).get(key) if len(set(defaults.values())) == 1 else None
        own = settings.get(topic, {}).get(key)
        if own is None and topic in invalid:
            return None
        return defaults.get(broker) if own is None else own

    return of


def _unread(_topic: str, _broker: int) -> int:
    return UNREAD


def _agreed(values: Iterable[int]) -> int:
    found = set(values)
    return found.pop() if len(found) == 1 else UNREAD


# The distinct states of a cluster's partitions, numbered for the store: equal ones have equal fates in any failure.

#: Bits of a mask: a signed 64-bit integer without its sign.
MOST_BROKERS: Final = 63
#: Replicas whose place in the assignment a stored state keeps.
MOST_REPLICAS: Final = 5
#: The number of the state of partitions without a readable leader and ISR.
UNJUDGED: Final = -1


@dataclass(frozen=True, slots=True)
class ClusterStates:
    """The states by number, and the facts about the cluster that a failure needs.

    `bits` are the bits of all brokers. `numbers` lacks partitions that are being deleted; UNJUDGED are partitions of
    which no source has both leader and ISR. `controller_bit` is NONE without a live controller, or if it is unknown.
    With `elects_by_record` a new controller knows ZooKeeper's record only. `lacks` are sentences: what the snapshot
    does not show, each of which could change the fate of any partition.
    """

    bits: Mapping[int, int]
    live: frozenset[int]
    states: tuple[PartitionMasks, ...]
    numbers: Mapping[TopicPartition, int]
    controller_bit: int
    elects_by_record: bool
    lacks: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Returns whether the states fit into 64-bit columns."""
        return len(self.bits) <= MOST_BROKERS and all(len(s.order) <= MOST_REPLICAS for s in self.states)


def states_of(case: CaseFile) -> ClusterStates | None:
    """Returns the states; None if no source shows which brokers are alive: then no failure can be judged.

    The numbers depend neither on the names of topics nor on the number of partitions.
    """
    if not case.live:
        return None
    masks = masks_of(case, case.live)
    states = tuple(sorted(masks.rows))
    numbers = {tp: number for number, row in enumerate(states) for tp in masks.rows[row]}
    numbers |= dict.fromkeys(masks.unjudged, UNJUDGED)
    lacks = (*unknown_of(case), *_combined(case))
    return ClusterStates(masks.bits, case.live, states, numbers, masks.controller_bit, case.zookeeper_rules, lacks)


def _combined(case: CaseFile) -> Iterator[str]:
    if voters_of(case) & (case.live or frozenset()):
        yield "controllers run in the processes of brokers: whether they keep their majority is not judged for a fleet"
