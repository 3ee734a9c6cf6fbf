"""One flat row of scalars per partition: the input of every partition check, live and in the audit.

No fact is ever null and none is a list, so that Python and SQL cannot disagree about it. "Unknown" is a number: -1 for
an unknown count or age, -2 if no source names a leader or an epoch.

Leader and ISR come from ZooKeeper's record if it was read, otherwise from the view with the highest leader epoch. Alive
means registered in ZooKeeper; without ZooKeeper, reported as alive by most responding brokers; without either, liveness
is unknown and `n_live_*` are -1, which is neither "none" nor "some". A replica is online if its broker is alive and its
log directory has not failed (`offline_alive`).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Annotated, Final, NamedTuple, get_type_hints

from kfix.core.declared import Unit
from kfix.core.derive.background import UNKNOWN, Background, background_of
from kfix.core.derive.coordinator import INTERNAL_TOPICS, OFFSETS_TOPIC
from kfix.core.derive.vantage import distinct
from kfix.core.snapshot.snapshot import (
    Assignment,
    BrokerView,
    PartitionState,
    PartitionView,
    Snapshot,
    TopicPartition,
)

NOBODY_SAYS: Final = -2
#: More replicas than this are a choice, fewer are a risk (docs/facts/defaults.md).
ADVISED_RF: Final = 3
_TOPIC_ZNODE: Final = re.compile(r"/brokers/topics/([^/]+)")
_EVERY: Final = "/"


_Replicas = Annotated[int, Unit("replicas")]
_BrokerId = Annotated[int, Unit("broker id")]


class PartitionFacts(NamedTuple):
    topic: Annotated[str, "the topic"]
    partition: Annotated[int, "the number of the partition"]
    leader: Annotated[
        _BrokerId, "the leader by ZooKeeper's record, else by the view with the highest epoch; -1 none, -2 unknown"
    ]
    leaderless: Annotated[bool, "there is no leader, or one that is known to be dead"]
    leader_live: Annotated[bool, "the leader is alive"]
    leader_in_isr: Annotated[bool, "the leader is in the ISR"]
    leader_epoch: Annotated[
        int, "the leader epoch of the newest view; -2 if no broker knows the partition", Unit("epoch")
    ]
    view_leader: Annotated[_BrokerId, "the leader of the same view"]
    preferred: Annotated[_BrokerId, "the preferred leader, the first replica; -1 if there is no assignment"]
    preferred_in_live_isr: Annotated[bool, "the preferred leader is alive and in the ISR"]
    n_replicas: Annotated[_Replicas, "assigned replicas"]
    n_isr: Annotated[_Replicas, "members of the ISR"]
    n_live_replicas: Annotated[_Replicas, "assigned replicas on live brokers; -1 unknown"]
    n_live_isr: Annotated[_Replicas, "members of the ISR on live brokers; -1 unknown"]
    n_unknown_replicas: Annotated[_Replicas, "replicas on broker ids that no longer exist"]
    target_rf: Annotated[_Replicas, "the replication factor once a reassignment has ended"]  # without observers
    advised_rf: Annotated[_Replicas, "the replication factor that the number of brokers allows, at most 3"]
    n_racks: Annotated[int, "racks with a replica", Unit("racks")]
    racks_known: Annotated[bool, "the racks of all replicas are known"]
    cluster_racks: Annotated[int, "racks of the cluster", Unit("racks")]
    min_isr: Annotated[
        _Replicas, "min.insync.replicas of the topic; -1 not read"
    ]  # as the leader applies it (`versions`)
    unclean: Annotated[bool, "unclean.leader.election.enable of the topic"]
    unclean_known: Annotated[bool, "that setting was read"]
    internal: Annotated[bool, "an internal topic of Kafka"]
    offsets: Annotated[bool, "a partition of __consumer_offsets"]
    reassigning: Annotated[bool, "a reassignment is in progress"]
    deleting: Annotated[bool, "the topic is being deleted"]
    zk_known: Annotated[bool, "ZooKeeper's record was read and is the authority"]
    zk_leader: Annotated[_BrokerId, "the leader in ZooKeeper's record"]
    zk_leader_epoch: Annotated[int, "the leader epoch in ZooKeeper's record", Unit("epoch")]
    zk_version: Annotated[int, "the version of the znode: how often leader or ISR changed", Unit("writes")]
    zk_agrees: Annotated[bool, "ZooKeeper's record agrees with the newest view"]
    n_views: Annotated[int, "brokers that responded and know the partition", Unit("brokers")]
    views_agree: Annotated[bool, "they all name the same leader and epoch"]
    liveness_known: Annotated[bool, "it is known which brokers are alive"]
    state_age: Annotated[int, "since the znode was written; -1 unknown", Unit("s")]
    stable_for: Annotated[int, "how long the row has been like this, at least; -1 unknown", Unit("s")]
    n_online_isr: Annotated[_Replicas, "members of the ISR on live brokers whose log directories work; -1 unknown"]
    n_failed_replicas: Annotated[_Replicas, "replicas in failed log directories of live brokers; -1 unknown"]
    zk_lacks: Annotated[bool, "brokers know the partition, and ZooKeeper, which is the authority, has no state of it"]
    replicas_agree: Annotated[
        bool, "ZooKeeper and the newest view name the same replicas, or they are being reassigned"
    ]

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


FACT_TYPES: Final[Mapping[str, type]] = get_type_hints(PartitionFacts)
_VERSION, _AGE, _STABLE = (PartitionFacts._fields.index(name) for name in ("zk_version", "state_age", "stable_for"))


def derive(snapshot: Snapshot, background: Background | None = None) -> tuple[PartitionFacts, ...]:
    """Returns one row per partition, sorted. What the sources record alike of several partitions is judged once."""
    return tuple(map(_Recorded(snapshot, background or background_of(snapshot)).row, partitions_of(snapshot)))


class _Recorded:
    """The records of a snapshot's sources about each partition.

    A cluster of 100 000 partitions has some hundred different records, apart from versions and times (docs/adr/022).
    """

    def __init__(self, snapshot: Snapshot, known: Background) -> None:
        zookeeper, pasted = snapshot.zookeeper, snapshot.pasted
        self._known = known
        self._states: Mapping[TopicPartition, PartitionState] = zookeeper.states if zookeeper else {}
        self._assigned: Mapping[TopicPartition, Assignment] = zookeeper.assignments if zookeeper else {}
        self._deleting = zookeeper.deleting if zookeeper else pasted.deleting if pasted else frozenset[str]()
        self._asked: Mapping[TopicPartition, tuple[int, ...]] = zookeeper.reassigning if zookeeper else {}
        self._moving: Mapping[TopicPartition, Assignment] = snapshot.reassignments or {}
        self._views = [view.partitions for view in snapshot.views.values()]
        self._different_views, _ = distinct(snapshot.views)
        self._observers = pasted.observers if pasted else {}
        self._listed = listed(snapshot.views.values())
        self._log_ends = snapshot.log_ends
        self._unread = _unread_topics(snapshot)
        self._kinds: dict[str, Hashable] = {}
        self._judged: dict[Hashable, tuple[PartitionFacts, _Times]] = {}

    def row(self, tp: TopicPartition) -> PartitionFacts:
        key = self._key(tp)
        judged = self._judged.get(key)
        if judged is None:
            judged = self._judged[key] = self._judge(tp)
        row, times = judged
        values = [*row]
        values[0], values[1] = tp
        values[_VERSION], values[_AGE], values[_STABLE] = times.of(self._states.get(tp), self._known)
        return PartitionFacts._make(values)

    def _key(self, tp: TopicPartition) -> Hashable:
        """Returns the inputs of a row apart from names, versions and times."""
        topic = tp.topic
        kind = self._kinds.get(topic)
        if kind is None:
            internal = topic if topic in INTERNAL_TOPICS else ""
            settings = self._known.settings.own(topic)
            kind = self._kinds[topic] = internal, topic in self._deleting, self._is_unread(topic), settings
        state, move = self._states.get(tp), (self._moving.get(tp), tp in self._asked, self._observers.get(tp))
        seen = tuple([view.get(tp) for view in self._different_views])
        return kind, self._assigned.get(tp), None if state is None else state[:3], seen, move, self._readable(tp)

    def _is_unread(self, topic: str) -> bool:
        """Returns whether the topic may have a znode that could not be decoded."""
        return topic in self._unread or _EVERY in self._unread

    def _readable(self, tp: TopicPartition) -> frozenset[int]:
        """Returns the brokers that reported the log end of their replica: its log directory works."""
        ends = self._log_ends.get(tp)
        return frozenset(broker for broker, end in ends.items() if not end.error) if ends else frozenset()

    def _judge(self, tp: TopicPartition) -> tuple[PartitionFacts, _Times]:
        """Returns a row without version and times, and what its times depend on."""
        views = self._views
        seen = [v for v in [view.get(tp) for view in views] if v is not None]
        move = self._moving.get(tp)
        assignment = self._assigned.get(tp)
        if assignment is None:
            assignment = move or Assignment(max(seen, key=standing).replicas if seen else ())
        under_way = move is not None or tp in self._asked or bool(assignment.adding or assignment.removing)
        agree = len(seen) == len(views) and all(v == seen[0] for v in seen) if seen else True
        if not agree:
            agree = _same(seen, len(views))
        flags = (under_way, tp.topic in self._deleting, agree, bool(views), self._is_unread(tp.topic))
        failed = offline_alive(seen, self._known.live, self._listed, self._readable(tp))
        row, times = _row(tp, self._states.get(tp), assignment, seen, self._known, flags=flags, failed=failed)
        if tp in self._observers:
            row = row._replace(target_rf=row.target_rf - len(self._observers[tp]))
        return row, times


def partitions_of(snapshot: Snapshot) -> Iterable[TopicPartition]:
    """Returns all partitions of all sources, sorted: a topic under deletion has left the metadata but not ZooKeeper."""
    found: set[TopicPartition] = set()
    if snapshot.zookeeper is not None:
        found.update(snapshot.zookeeper.assignments)
        found.update(snapshot.zookeeper.states)
    found.update(*distinct(snapshot.views)[0])
    return sorted(found)


def _row(
    tp: TopicPartition,
    state: PartitionState | None,
    assignment: Assignment,
    seen: list[PartitionView],
    known: Background,
    *,
    flags: tuple[bool, bool, bool, bool, bool],
    failed: frozenset[int],
) -> tuple[PartitionFacts, _Times]:
    reassigning, deleting, views_agree, answered, unread = flags
    topic = tp.topic
    replicas = assignment.replicas
    best = seen[0] if views_agree and seen else max(seen, key=standing, default=None)
    zk = state is not None and known.authority
    if state is not None and zk:
        leader, isr = state.leader, state.isr
        zk_leader, zk_epoch = state.leader, state.leader_epoch
    else:
        leader, isr = (best.leader, best.isr) if best is not None else (NOBODY_SAYS, ())
        zk_leader = zk_epoch = NOBODY_SAYS
    live = known.live
    leader_live = live is not None and leader in live
    preferred = replicas[0] if replicas else UNKNOWN
    racks = {known.racks[b] for b in replicas if b in known.racks} if known.racks else set()
    min_isr, unclean, unclean_known = known.settings(topic, leader, len(replicas))
    leaderless = leader == UNKNOWN or (leader >= 0 and live is not None and not leader_live)
    agrees = not zk or best is None or _agrees(zk_leader, zk_epoch, best, live)
    gone = _gone_for(replicas, isr, known, leaderless=leaderless) if known.absent and not zk else UNKNOWN
    # The age of the record does not show which of the brokers have just started and know nothing yet.
    unseen = zk and answered and best is None
    hasty = leader >= 0 and (leaderless or unseen or _newer(best, zk_epoch))
    times = _Times(zk, leaderless or unseen or not agrees, hasty, isr, gone)
    row = PartitionFacts(
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
        len(known.lost.keys() & set(replicas)) if known.lost else 0,
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
        UNKNOWN,
        agrees,
        len(seen),
        views_agree,
        live is not None,
        UNKNOWN,
        UNKNOWN,
        UNKNOWN if live is None else len(live.intersection(isr) - failed),
        UNKNOWN if live is None else len(failed.intersection(replicas)),
        known.authority and state is None and best is not None and not unread,
        not zk or reassigning or best is None or set(best.replicas) == set(replicas),
    )
    return row, times


def listed(views: Iterable[BrokerView]) -> frozenset[int]:
    """Returns the brokers that any of these brokers lists as alive."""
    return frozenset(broker for view in views for broker in view.alive)


def offline_alive(
    seen: Sequence[PartitionView],
    live: frozenset[int] | None,
    alive: frozenset[int],
    readable_at: frozenset[int] = frozenset(),
) -> frozenset[int]:
    """Returns the live replicas that every broker with the newest metadata reports as offline: a log directory failed.

    `offline` also names replicas on dead brokers and on brokers that shut down (docs/facts/metadata.md). If no broker
    lists a registered broker as alive, the controller has not acted on it yet: that shows nothing about its disk. Those
    of `readable_at` have just reported the end of their log. Empty if liveness is unknown.
    """
    if live is None or not any(view.offline for view in seen):
        return frozenset()
    newest = max(view.leader_epoch for view in seen)
    offline = [view.offline for view in seen if view.leader_epoch == newest]
    found = frozenset(b for b in offline[0] if b in live and b in alive and all(b in each for each in offline))
    return found - readable_at


def _unread_topics(snapshot: Snapshot) -> frozenset[str]:
    """Returns the topics with a znode that could not be decoded; `_EVERY` if the sources do not name all of them."""
    failed = [source.name for source in snapshot.failed_sources]
    named = {found[1] for name in failed if (found := _TOPIC_ZNODE.search(name))}
    return frozenset(named | {_EVERY} if "znodes" in failed else named)


class _Times(NamedTuple):
    """What the three facts of a row depend on that differ from partition to partition: version, age, stable time."""

    zk: bool
    in_doubt: bool  # leaderless, known to no broker that answered, or ZooKeeper and the views disagree
    hasty: bool
    isr: tuple[int, ...]
    gone: int = UNKNOWN  # seconds since the brokers that it lacks are gone, where ZooKeeper keeps no record

    def of(self, state: PartitionState | None, known: Background) -> tuple[int, int, int]:
        """Returns (zk_version, state_age, stable_for) of a row with this state."""
        if state is None or not self.zk:
            return UNKNOWN, UNKNOWN, self.gone
        version, age = state.version, max((known.taken_ms - state.mtime_ms) // 1000, UNKNOWN)
        stable = _stable_for(age, self.isr, known, hasty=self.hasty) if self.in_doubt else age
        return version, age, stable


def _gone_for(replicas: tuple[int, ...], isr: tuple[int, ...], known: Background, *, leaderless: bool) -> int:
    """Returns the least time for which the row has lacked its brokers, by the last of them that was fenced.

    A leaderless row lacks its ISR; if that is empty, all replicas. Unknown if a broker that it lacks is alive.
    """
    lacking = (isr or replicas) if leaderless else tuple(b for b in replicas if b not in isr)
    if not lacking or any(b not in known.absent for b in lacking):
        return UNKNOWN
    return min(known.absent[b] for b in lacking)


def standing(view: PartitionView) -> tuple[int, bool]:
    """Orders views of a partition: the newest is last, and among equal epochs a view that names the leader.

    A broker reports -1 for a leader that it considers dead, at the epoch of that leader (docs/facts/metadata.md).
    """
    return view.leader_epoch, view.leader >= 0


def _same(seen: list[PartitionView], answering: int) -> bool:
    """Returns whether the views agree, apart from the order of the ISR; a view without the partition disagrees."""
    first = seen[0]
    return len(seen) == answering and all(
        (v.leader, v.leader_epoch, set(v.isr)) == (first.leader, first.leader_epoch, set(first.isr)) for v in seen
    )


def _agrees(leader: int, epoch: int, view: PartitionView, live: frozenset[int] | None) -> bool:
    if epoch != view.leader_epoch:
        return False
    # A broker reports -1 for a leader that it considers dead (docs/facts/metadata.md): that is no disagreement.
    return leader == view.leader or (view.leader == UNKNOWN and (live is None or leader not in live))


def _newer(view: PartitionView | None, epoch: int) -> bool:
    return view is not None and view.leader_epoch > epoch


def _stable_for(age: int, isr: tuple[int, ...], known: Background, *, hasty: bool) -> int:
    """Returns the least seconds for which the fault has lasted; an old record may be a new fault.

    The fault is new if a broker has just left or returned, or if the views are newer. `hasty`: the record still names a
    leader, so something else has changed since, at an unknown time.
    """
    if hasty or age < 0:
        return UNKNOWN
    ages = [(known.taken_ms - known.registered_ms[b]) // 1000 for b in isr if known.registered_ms.get(b, -1) > 0]
    return max(min([age, *ages]), UNKNOWN)
