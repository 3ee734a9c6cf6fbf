"""One flat row of scalars a partition: what every partition check looks at, live and in the nightly audit alike.

No fact is ever null and none is a list, so that Python and SQL cannot disagree about it (design: fleet). "Unknown" is a
number of its own: -1 where a count or an age is not known, -2 where no source names a leader or an epoch.

Truth for leader and ISR is ZooKeeper's record where it was read, else the view with the highest leader epoch. Alive
means registered in ZooKeeper; without ZooKeeper, in the alive list of most answering brokers; without either nobody
knows, and `n_live_*` are -1, which is neither "none" nor "some".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kfix.model.coordinator import INTERNAL_TOPICS, OFFSETS_TOPIC
from kfix.model.snapshot import Assignment, Mode, PartitionState, PartitionView, Snapshot, TopicPartition

UNKNOWN: Final = -1
NOBODY_SAYS: Final = -2
#: More replicas than this are a choice, fewer are a risk (kafka-facts G).
ADVISED_RF: Final = 3


class PartitionFacts(NamedTuple):
    topic: str
    partition: int
    leader: int  # -1: none; -2: no source names one
    leaderless: bool  # no leader, or one that is known to be dead
    leader_live: bool
    leader_in_isr: bool
    leader_epoch: int  # of the highest-epoch view; -2: no view has the partition
    view_leader: int  # of the same view
    preferred: int  # first of the assignment; -1: no assignment
    preferred_in_live_isr: bool
    n_replicas: int
    n_isr: int
    n_live_replicas: int
    n_live_isr: int
    n_unknown_replicas: int  # ids that are judged to exist no more
    target_rf: int  # replicas without those that a reassignment is adding
    advised_rf: int
    n_racks: int
    racks_known: bool
    cluster_racks: int
    min_isr: int  # -1: not read
    unclean: bool
    unclean_known: bool
    internal: bool
    offsets: bool
    reassigning: bool
    deleting: bool
    zk_known: bool  # ZooKeeper's record was read and is the authority
    zk_leader: int
    zk_leader_epoch: int
    zk_version: int
    zk_agrees: bool  # with the highest-epoch view
    n_views: int  # brokers that answered and know the partition
    views_agree: bool
    liveness_known: bool
    state_age: int  # seconds since the znode was written
    stable_for: int  # seconds for which the row has said what it says, at least; -1: not known

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


FACT_TYPES: Final[Mapping[str, type]] = {
    name: {"str": str, "int": int, "bool": bool}[kind] for name, kind in PartitionFacts.__annotations__.items()
}


@dataclass(frozen=True, slots=True)
class Background:
    """What is the same for all partitions of a snapshot, worked out once."""

    live: frozenset[int] | None
    racks: Mapping[int, str]
    lost: frozenset[int]
    n_brokers: int
    registered_ms: Mapping[int, int]
    taken_ms: int
    authority: bool
    settings: Callable[[str, int], tuple[int, bool, bool]] = field(repr=False)


def derive(snapshot: Snapshot, background: Background | None = None) -> tuple[PartitionFacts, ...]:
    known = background or background_of(snapshot)
    zookeeper = snapshot.zookeeper
    states: Mapping[TopicPartition, PartitionState] = zookeeper.states if zookeeper else {}
    assigned: Mapping[TopicPartition, Assignment] = zookeeper.assignments if zookeeper else {}
    deleting = zookeeper.deleting if zookeeper else frozenset[str]()
    asked = zookeeper.reassigning if zookeeper else {}
    moving = snapshot.reassignments or {}
    views = [view.partitions for view in snapshot.views.values()]
    rows = []
    for tp in partitions_of(snapshot):
        seen = [v for v in [view.get(tp) for view in views] if v is not None]
        move = moving.get(tp)
        assignment = assigned.get(tp)
        if assignment is None:
            assignment = move or Assignment(max(seen, key=_epoch).replicas if seen else ())
        under_way = move is not None or tp in asked or bool(assignment.adding or assignment.removing)
        agree = len(seen) == len(views) and all(v == seen[0] for v in seen) if seen else True
        if not agree:
            agree = _same(seen, len(views))
        rows.append(_row(tp, states.get(tp), assignment, seen, known, (under_way, tp.topic in deleting, agree)))
    return tuple(rows)


def partitions_of(snapshot: Snapshot) -> Iterable[TopicPartition]:
    """Sorted, from every source: a topic that is being deleted has left the brokers' metadata but not ZooKeeper."""
    found: set[TopicPartition] = set()
    if snapshot.zookeeper is not None:
        found.update(snapshot.zookeeper.assignments)
        found.update(snapshot.zookeeper.states)
    for view in snapshot.views.values():
        found.update(view.partitions)
    return sorted(found)


def _row(
    tp: TopicPartition,
    state: PartitionState | None,
    assignment: Assignment,
    seen: list[PartitionView],
    known: Background,
    flags: tuple[bool, bool, bool],
) -> PartitionFacts:
    reassigning, deleting, views_agree = flags
    topic = tp.topic
    replicas = assignment.replicas
    best = seen[0] if views_agree and seen else max(seen, key=_epoch, default=None)
    zk = state is not None and known.authority
    if state is not None and zk:
        leader, isr = state.leader, state.isr
        age = (known.taken_ms - state.mtime_ms) // 1000
        zk_leader, zk_epoch, zk_version = state.leader, state.leader_epoch, state.version
    else:
        leader, isr = (best.leader, best.isr) if best is not None else (NOBODY_SAYS, ())
        age = zk_leader = zk_epoch = zk_version = UNKNOWN
        zk_leader = zk_epoch = NOBODY_SAYS
    live = known.live
    leader_live = live is not None and leader in live
    preferred = replicas[0] if replicas else UNKNOWN
    racks = {known.racks[b] for b in replicas if b in known.racks} if known.racks else set()
    min_isr, unclean, unclean_known = known.settings(topic, leader)
    leaderless = leader == UNKNOWN or (leader >= 0 and live is not None and not leader_live)
    agrees = not zk or best is None or _agrees(zk_leader, zk_epoch, best, live)
    stable = age if age >= 0 else UNKNOWN
    if leaderless or not agrees:
        stable = _stable_for(stable, isr, known, hasty=leader >= 0 and (leaderless or _newer(best, zk_epoch)))
    return PartitionFacts(
        topic,
        tp.partition,
        leader,
        leaderless,
        leader_live,
        leader in isr,
        best.leader_epoch if best is not None else NOBODY_SAYS,
        best.leader if best is not None else NOBODY_SAYS,
        preferred,
        live is not None and preferred in live and preferred in isr,
        len(replicas),
        len(isr),
        UNKNOWN if live is None else len(live.intersection(replicas)),
        UNKNOWN if live is None else len(live.intersection(isr)),
        len(known.lost.intersection(replicas)) if known.lost else 0,
        len(replicas) - len(assignment.adding),
        min(ADVISED_RF, known.n_brokers),
        len(racks),
        bool(racks) and all(b in known.racks for b in replicas),
        len(set(known.racks.values())) if racks else 0,
        min_isr,
        unclean,
        unclean_known,
        topic in INTERNAL_TOPICS,
        topic == OFFSETS_TOPIC,
        reassigning,
        deleting,
        zk,
        zk_leader,
        zk_epoch,
        zk_version,
        agrees,
        len(seen),
        views_agree,
        live is not None,
        age if age >= 0 else UNKNOWN,
        stable,
    )


def _epoch(view: PartitionView) -> int:
    return view.leader_epoch


def _same(seen: list[PartitionView], answering: int) -> bool:
    """Order within the ISR and the list of offline replicas are no disagreement; not knowing the partition is one."""
    first = seen[0]
    return len(seen) == answering and all(
        (v.leader, v.leader_epoch, set(v.isr)) == (first.leader, first.leader_epoch, set(first.isr)) for v in seen
    )


def _agrees(leader: int, epoch: int, view: PartitionView, live: frozenset[int] | None) -> bool:
    if epoch != view.leader_epoch:
        return False
    # A broker answers -1 for a leader it does not believe to be alive (kafka-facts C): that is no other opinion.
    return leader == view.leader or (view.leader == UNKNOWN and (live is None or leader not in live))


def _newer(view: PartitionView | None, epoch: int) -> bool:
    return view is not None and view.leader_epoch > epoch


def _stable_for(age: int, isr: tuple[int, ...], known: Background, *, hasty: bool) -> int:
    """An old record is no old fault where a broker has just gone or come back, or where the views are the newer ones.

    `hasty`: the record still names a leader, so it is the world around the record that has changed, nobody knows when.
    """
    if hasty or age < 0:
        return UNKNOWN
    ages = [(known.taken_ms - known.registered_ms[b]) // 1000 for b in isr if known.registered_ms.get(b, -1) > 0]
    return max(min([age, *ages]), UNKNOWN)


def background_of(snapshot: Snapshot) -> Background:
    zookeeper = snapshot.zookeeper
    live = live_brokers(snapshot)
    registrations = zookeeper.registrations if zookeeper else {}
    assigned = {b for replicas in assignments_of(snapshot) for b in replicas}
    racks = {b: r for view in snapshot.views.values() for b, r in view.racks.items() if r}
    racks |= {b: r.rack for b, r in registrations.items() if r.rack}
    return Background(
        live=live,
        racks=racks,
        lost=frozenset(lost_brokers(snapshot, live, assigned)),
        n_brokers=len(assigned | (live or frozenset())),
        registered_ms={b: r.registered_ms for b, r in registrations.items()},
        taken_ms=int(snapshot.taken_at * 1000),
        authority=zookeeper is not None and not zookeeper.migrating and snapshot.cluster.mode is not Mode.KRAFT,
        settings=_settings(snapshot),
    )


def live_brokers(snapshot: Snapshot) -> frozenset[int] | None:
    if snapshot.zookeeper is not None:
        return frozenset(snapshot.zookeeper.registrations)
    # A pasted text is one view without a list of brokers: it tells nothing about who lives.
    lists = [set(view.alive) for view in snapshot.views.values() if view.alive]
    if not lists:
        return None
    votes = Counter(broker for alive in lists for broker in alive)
    return frozenset(b for b, n in votes.items() if 2 * n > len(lists))


def assignments_of(snapshot: Snapshot) -> set[tuple[int, ...]]:
    """The distinct replica lists: few, however many partitions there are."""
    found = {v.replicas for view in snapshot.views.values() for v in view.partitions.values()}
    if snapshot.zookeeper is not None:
        found |= {a.replicas for a in snapshot.zookeeper.assignments.values()}
    return found


def lost_brokers(snapshot: Snapshot, live: frozenset[int] | None, assigned: set[int]) -> dict[int, tuple[int, bool]]:
    """Assigned ids that exist no more: id -> (the broker that came instead, whether it sits on the same address).

    An id that is merely away looks the same. Two signs tell: its address now answers under another id, or a broker
    without any replica has registered since it left - an empty broker that is older is only a new, empty broker.
    """
    if live is None or snapshot.zookeeper is None:
        return {}
    registrations = snapshot.zookeeper.registrations
    at = {str(r.endpoint): b for b, r in registrations.items() if r.endpoint is not None}
    idle = sorted(live - assigned)
    found: dict[int, tuple[int, bool]] = {}
    for broker in sorted(assigned - live):
        heir = at.get(snapshot.remembered_brokers.get(broker, ""))
        if heir is not None:
            found[broker] = (heir, True)
            continue
        left = left_ms(snapshot, broker)
        for other in idle:
            since = registrations[other].registered_ms
            # The session of the old id outlives it, so that the new one may have come up to a minute earlier.
            if left is None or since <= 0 or since >= left - 60_000:
                found[broker] = (other, False)
                break
    return found


def left_ms(snapshot: Snapshot, broker: int) -> int | None:
    """When a dead broker left, by the oldest record that shows it gone; None where no record does."""
    if snapshot.zookeeper is None:
        return None
    oldest: int | None = None
    assigned = snapshot.zookeeper.assignments
    for tp, state in snapshot.zookeeper.states.items():
        if oldest is not None and state.mtime_ms >= oldest:
            continue
        gone = broker not in state.isr or (state.leader < 0 and state.isr == (broker,))
        if gone and tp in assigned and broker in assigned[tp].replicas:
            oldest = state.mtime_ms
    return oldest


def _settings(snapshot: Snapshot) -> Callable[[str, int], tuple[int, bool, bool]]:
    """(min.insync.replicas, unclean election, whether that is known) of a topic whose leader is given.

    A topic's own setting wins; else the leader's default counts, and without it the strictest of the brokers.
    """
    topics: dict[str, Mapping[str, str]] = dict(snapshot.zookeeper.topic_configs) if snapshot.zookeeper else {}
    topics.update(snapshot.topic_configs)
    brokers = {b: c for b, c in snapshot.broker_configs.items() if c}
    known: dict[tuple[str, int], tuple[int, bool, bool]] = {}

    def look_up(topic: str, leader: int, key: str) -> list[str]:
        own = topics.get(topic, {}).get(key)
        if own is not None:
            return [own]
        if leader in brokers and key in brokers[leader]:
            return [brokers[leader][key]]
        return [c[key] for c in brokers.values() if key in c]

    def settings(topic: str, leader: int) -> tuple[int, bool, bool]:
        at = (topic, leader)
        if at not in known:
            numbers = [int(v) for v in look_up(topic, leader, "min.insync.replicas") if v.isdigit()]
            unclean = look_up(topic, leader, "unclean.leader.election.enable")
            known[at] = (max(numbers, default=UNKNOWN), "true" in unclean, bool(unclean))
        return known[at]

    return settings
