"""Infers the one network cut that explains all signs: which broker or zone is cut off, and from what.

Signatures tried on 2.7.1 with three zones (docs/facts/network-partitions.md):
- responds to kfix, but is not registered: cut from ZooKeeper's quorum. If it still names itself controller, there are
  two controllers.
- registered, and only its metadata is stale: cut from the controller.
- registered, no metadata is stale, and only those two removed each other from ISRs: the link between the two is cut.
- registered, and removed by and from all others: cut from all brokers, but not from ZooKeeper. The controller itself
  can still write into ZooKeeper, so the metadata of the others is stale.

A replica whose log end moves between two samples is slow, not cut off.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kfix.core.derive.isolation import Gap, ReturnLoss, gaps_of, losses_of, stale_of, stuck_of, two_leaders
from kfix.core.derive.partitions import Rows
from kfix.core.derive.record import record_of
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.core.wording import brokers_named

_BATCH_MS = 60_000


class CutKind(StrEnum):
    LINK = "link"  # one broker from another
    CONTROLLER_LINK = "controller link"  # brokers from the controller
    ZONE = "zone"  # brokers from ZooKeeper's quorum, and so from the rest
    CONTROLLER_ZONE = "controller zone"  # the same, and one of them still acts as controller
    ALONE = "alone"  # one broker from all others, but not from ZooKeeper


@dataclass(frozen=True, slots=True)
class Cut:
    """One cut: `brokers` are on the small side, `peers` are the brokers that they do not reach.

    `pairs` are partitions with two leaders {partition: (older, newer)}; `controllers` maps each responding broker to
    the controller it names; `since_ms` is when the first sign was written (0: no record shows it); `sampled` is whether
    lag was measured over time.
    """

    kind: CutKind
    brokers: tuple[int, ...]
    peers: tuple[int, ...]
    gaps: tuple[Gap, ...] = ()
    stale: Mapping[int, tuple[TopicPartition, ...]] = field(default_factory=dict)
    pairs: Mapping[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    stuck: tuple[TopicPartition, ...] = ()
    losses: tuple[ReturnLoss, ...] = ()
    controllers: Mapping[int, int] = field(default_factory=dict)
    since_ms: int = 0
    sampled: bool = True

    @property
    def obj(self) -> str:
        if self.kind is CutKind.LINK:
            return f"brokers {self.brokers[0]} and {self.peers[0]}"
        return brokers_named(self.brokers)

    @property
    def about(self) -> str:
        """The name in the finding's key if the cut may lose or win members while it lasts, else ""."""
        return "zone" if self.kind in {CutKind.ZONE, CutKind.CONTROLLER_ZONE} else ""

    def explains(self, brokers: Iterable[int]) -> bool:
        """Returns whether findings about exactly these brokers follow from it."""
        touched = {*self.brokers, *(self.peers if self.kind in {CutKind.LINK, CutKind.ALONE} else ())}
        affected = set(brokers)
        return bool(affected) and affected <= touched


def cut_of(snapshot: Snapshot, odd: Collection[TopicPartition], samples: Rows | None = None) -> Cut | None:
    """Returns the cut; None if there is no sign of one, or if neither ZooKeeper nor a quorum was read.

    `odd` are the partitions where a replica is missing or the views differ. `samples` have a row for each
    combination of leader and ISR; without them all partitions are checked.
    """
    zookeeper = snapshot.zookeeper
    if len(snapshot.views) < 2:
        return None
    if zookeeper is None:
        return _on_kraft(snapshot, odd, samples)
    shut_out = tuple(sorted(snapshot.views.keys() - zookeeper.registrations.keys()))
    if shut_out:
        return _shut_out(snapshot, odd, shut_out)
    there = zookeeper.registrations.keys() & snapshot.views.keys()
    controller = zookeeper.controller.broker
    if not odd or controller not in there or len(there) < 3:
        return None
    lasting = _lasting(snapshot, odd)
    stale = stale_of(snapshot, odd)
    return _from_controller(snapshot, frozenset(there), controller, lasting, stale) or (
        None if stale else _between(snapshot, frozenset(there), lasting, samples)
    )


def _on_kraft(snapshot: Snapshot, odd: Collection[TopicPartition], samples: Rows | None) -> Cut | None:
    """Returns the cut between brokers that the controllers hear; a broker cut off from those is another case."""
    quorum, record = snapshot.quorum, record_of(snapshot)
    if quorum is None or not quorum.read or record is None or any(quorum.stale(b) for b in snapshot.views):
        return None
    there = frozenset(record.registrations.keys() & snapshot.views.keys())
    if not odd or len(there) < 3:
        return None
    lasting = _lasting(snapshot, odd)
    # A broker that has just started was dropped, too, but has dropped no other one.
    mutual = {gap.leader for gap in lasting} & {gap.missing for gap in lasting}
    return _between(snapshot, there, lasting, samples) if mutual else None


def _lasting(snapshot: Snapshot, odd: Collection[TopicPartition]) -> tuple[Gap, ...]:
    """Returns the gaps of links over which no replica moves: that would prove the link of the same two brokers."""
    gaps = gaps_of(snapshot, odd)
    moving = {(gap.leader, gap.missing) for gap in gaps if gap.moved}
    return tuple(gap for gap in gaps if (gap.leader, gap.missing) not in moving)


def _shut_out(snapshot: Snapshot, odd: Collection[TopicPartition], brokers: tuple[int, ...]) -> Cut | None:
    zookeeper = snapshot.zookeeper
    assert zookeeper is not None
    recorded = zookeeper.controller.broker
    controllers = {b: view.controller for b, view in snapshot.views.items()}
    usurped = any(controllers[b] in brokers and controllers[b] != recorded for b in brokers)
    pairs = {tp: pair for tp, pair in two_leaders(snapshot, odd).items() if pair[0] in brokers}
    dropped = [
        state.mtime_ms
        for tp in odd
        if (state := zookeeper.states.get(tp)) is not None
        and not set(brokers) & set(state.isr)
        and set(brokers) & set(zookeeper.assignments[tp].replicas if tp in zookeeper.assignments else ())
    ]
    return Cut(
        CutKind.CONTROLLER_ZONE if usurped else CutKind.ZONE,
        brokers,
        tuple(sorted(zookeeper.registrations)),
        pairs=pairs,
        losses=losses_of(snapshot, pairs),
        controllers=controllers,
        since_ms=_onset(dropped),
    )


def _from_controller(
    snapshot: Snapshot,
    there: frozenset[int],
    controller: int,
    gaps: tuple[Gap, ...],
    stale: Mapping[int, tuple[TopicPartition, ...]],
) -> Cut | None:
    """Returns the cut if some metadata is stale, but not the controller's."""
    if not stale or controller in stale:
        return None
    others = there - {controller}
    since = _onset(_written(snapshot, tp) for tps in stale.values() for tp in tps)
    if stale.keys() >= others:
        return Cut(
            CutKind.ALONE, (controller,), tuple(sorted(others)), gaps=gaps, stale=stale, since_ms=since,
            sampled=_sampled(gaps),
        )  # fmt: skip
    cut_off = tuple(sorted(stale))
    dropped_by = {gap.leader for gap in gaps if gap.missing in cut_off}
    believed = two_leaders(snapshot, sorted({tp for tps in stale.values() for tp in tps}))
    pairs = {tp: pair for tp, pair in believed.items() if pair[0] in cut_off}
    alone = len(cut_off) == 1 and dropped_by >= there - set(cut_off)
    return Cut(
        CutKind.ALONE if alone else CutKind.CONTROLLER_LINK,
        cut_off,
        tuple(sorted(there - set(cut_off))) if alone else (controller,),
        gaps=tuple(gap for gap in gaps if gap.missing in cut_off or gap.leader in cut_off),
        stale=stale,
        pairs=pairs,
        losses=losses_of(snapshot, pairs),
        stuck=stuck_of(snapshot, cut_off),
        since_ms=since,
        sampled=_sampled(gaps),
    )


def _between(snapshot: Snapshot, there: frozenset[int], gaps: tuple[Gap, ...], samples: Rows | None) -> Cut | None:
    """Returns the cut if no metadata is stale: a link between two brokers, or one broker from all others."""
    edges = {frozenset((gap.leader, gap.missing)) for gap in gaps}
    if not edges:
        return None
    since = _onset(gap.since_ms for gap in gaps)
    if len(edges) == 1:
        one, other = sorted(next(iter(edges)))
        if not _in_sync_with_third(snapshot, gaps, one, other, samples):
            return None
        return Cut(CutKind.LINK, (one,), (other,), gaps=gaps, since_ms=since, sampled=_sampled(gaps))
    common = frozenset.intersection(*edges)
    if len(common) != 1:
        return None
    [broker] = common
    # It must have removed its own followers and been removed: a broker that only lags behind all others is slow or
    # stuck, and if none removed it, its followers are.
    if {gap.missing for gap in gaps if gap.leader == broker} < there - {broker} or all(
        gap.leader == broker for gap in gaps
    ):
        return None
    return Cut(
        CutKind.ALONE, (broker,), tuple(sorted(there - {broker})), gaps=gaps, since_ms=since, sampled=_sampled(gaps)
    )


def _in_sync_with_third(snapshot: Snapshot, gaps: tuple[Gap, ...], one: int, other: int, samples: Rows | None) -> bool:
    """Returns whether both removed each other, or the removed one is in sync with others but never with this leader.

    A replica that the same leader keeps in other ISRs is stuck or throttled on these partitions alone.
    """
    if len({gap.leader for gap in gaps}) == 2:
        return True
    record = record_of(snapshot)
    assert record is not None
    [missing] = {gap.missing for gap in gaps}
    [leader] = {gap.leader for gap in gaps}
    known = record.states
    states = (
        known.values()
        if samples is None
        else (state for facts in samples if (state := known.get(facts.tp)) is not None)
    )
    follows = {state.leader for state in states if missing in state.isr and len(state.isr) > 1}
    return leader not in follows and bool(follows - {one, other})


def _sampled(gaps: tuple[Gap, ...]) -> bool:
    """Returns whether each link was sampled twice, by at least one of its partitions."""
    seen = {(gap.leader, gap.missing) for gap in gaps if gap.moved is not None}
    return seen >= {(gap.leader, gap.missing) for gap in gaps}


def _onset(written_ms: Iterable[int]) -> int:
    """Returns when the newest batch of changes began (ms); changes older by a minute have another cause. 0: none."""
    times = sorted(written_ms)
    return next((at for at in times if at >= times[-1] - _BATCH_MS), 0)


def _written(snapshot: Snapshot, tp: TopicPartition) -> int:
    assert snapshot.zookeeper is not None
    return snapshot.zookeeper.states[tp].mtime_ms
