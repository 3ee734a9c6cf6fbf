"""A model of what a KRaft cluster does with two partitions while brokers come and go (docs/facts/kraft.md).

The rules are those of `PartitionChangeBuilder`, with eligible leader replicas (Kafka 4) or without (3.9).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from kfix.core.snapshot.quorum import ELR_FEATURE, EligibleLeaders
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.heal.actions.elections import LogPosition
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.kraft_clusters import HIGH, kraft, quorum

UNCLEAN = "unclean.leader.election.enable"
TPS = (TopicPartition("orders", 0), TopicPartition("payments", 0))
BROKERS = (1, 2, 3)
#: It has no replica and never dies: whoever is asked about the cluster.
WITNESS = 4


@dataclass
class Brokers:
    """`live` are unfenced, `fenced` run and are not alive, `slow` are alive and no longer fetch records.

    `killed` did not shut down: when they register, they are no longer eligible.
    """

    live: set[int] = field(default_factory=lambda: set(BROKERS))
    killed: set[int] = field(default_factory=set)
    fenced: set[int] = field(default_factory=set)
    slow: set[int] = field(default_factory=set)

    @property
    def dead(self) -> list[int]:
        return [b for b in BROKERS if b not in self.live and b not in self.fenced]


@dataclass
class Partition:
    """A log is a list of (leader epoch, record); `acknowledged` are those that were written with acks=all.

    Without eligible leader replicas, the last member of the ISR stays in it.
    """

    tp: TopicPartition
    brokers: Brokers
    min_isr: int
    replicas: tuple[int, ...]
    keeps_eligible: bool
    unclean: bool = False
    leader: int = -1
    epoch: int = 0
    isr: list[int] = field(default_factory=list)
    elr: list[int] = field(default_factory=list)
    last_known: int = -1
    logs: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    acknowledged: list[tuple[int, int]] = field(default_factory=list)
    written: int = 0

    def __post_init__(self) -> None:
        self.isr = list(self.replicas)
        self.leader = self.replicas[0]
        self.logs = {b: [] for b in self.replicas}

    @property
    def enough(self) -> int:
        return min(self.min_isr, len(self.replicas))

    def write(self, *, everyone: bool) -> None:
        """A record with acks=all, which a partition below min.insync.replicas refuses, or with acks=1."""
        if self.leader < 0 or (everyone and len(self.isr) < self.min_isr):
            return
        self.written += 1
        record = (self.epoch, self.written)
        for broker in self.isr:
            self.logs[broker].append(record)
        if everyone:
            self.acknowledged.append(record)

    def gone(self, broker: int) -> None:
        if broker in self.isr:
            self._shrink(broker)
        elif self.leader < 0:
            self.elect()

    def lags(self, broker: int) -> None:
        """A live follower leaves the ISR."""
        if self.leader >= 0 and broker in self.isr and broker != self.leader:
            self._shrink(broker)

    def _shrink(self, broker: int) -> None:
        left = [b for b in self.isr if b != broker]
        if not left and not self.keeps_eligible:
            self.leader = -1
            return
        if len(left) >= self.enough:
            self.elr, self.last_known = [], -1
        elif self.keeps_eligible:
            self.elr = [*self.elr, broker]
        if not left:
            self.last_known = self.leader
        self.isr = left
        if self.leader == broker:
            self.leader = -1
        self.elect()

    def registered(self, broker: int, *, killed: bool) -> None:
        if killed:
            self.elr = [b for b in self.elr if b != broker]
        self.elect()
        self.follow(broker)

    def follow(self, broker: int) -> None:
        if self.leader >= 0 and broker in self.replicas and broker != self.leader:
            self._catch_up(broker)

    def elect(self, *, unclean: bool = False) -> None:
        if self.leader >= 0:
            return
        live = self.brokers.live
        able = [b for b in self.replicas if b in live and (b in self.isr or b in self.elr)]
        if not able and not self.isr and not self.elr and self.last_known in live:
            able = [self.last_known]
        if not able and (self.unclean or unclean):
            able = [b for b in self.replicas if b in live]
        if not able:
            return
        self.leader = able[0]
        self.epoch += 1
        if self.leader not in self.isr:
            self.isr = [self.leader]
        self.elr = [b for b in self.elr if b not in self.isr]
        for broker in self.replicas:
            if broker in live and broker not in self.isr:
                self._catch_up(broker)

    def _catch_up(self, broker: int) -> None:
        if broker in self.brokers.slow:
            return
        self.logs[broker] = list(self.logs[self.leader])
        self.isr = [b for b in self.replicas if b in (*self.isr, broker)]
        self.elr = [b for b in self.elr if b not in self.isr]
        if len(self.isr) >= self.enough:
            self.elr, self.last_known = [], -1

    def forget(self) -> None:
        """As min.insync.replicas does when it is set on a topic without a leader."""
        if self.leader < 0 and not self.isr:
            self.elr, self.last_known = [], -1

    def tails(self) -> dict[int, LogPosition]:
        """The ends of the logs of live replicas."""
        return {b: _tail(self.logs[b]) for b in self.replicas if b in self.brokers.live}

    def has_all(self, broker: int) -> bool:
        return set(self.acknowledged) <= set(self.logs[broker])

    @property
    def whole(self) -> bool:
        """No leader, or one that has every acknowledged record."""
        return self.leader < 0 or self.has_all(self.leader)


def _tail(log: list[tuple[int, int]]) -> LogPosition:
    return LogPosition(log[-1][0] if log else -1, len(log))


@dataclass
class Cluster:
    """`eligible_read` is whether the snapshots have the eligible replicas.

    If not `settings_read`, the controller reports no default for unclean elections, and only `forbidden` topics have a
    value of their own.
    """

    brokers: Brokers
    parts: list[Partition]
    eligible_read: bool = True
    settings_read: bool = True
    forbidden: set[str] = field(default_factory=set)

    def stop(self, broker: int, *, kill: bool) -> None:
        """Ends the process, of a fenced one, too."""
        if broker not in self.brokers.live and broker not in self.brokers.fenced:
            return
        self.brokers.fenced.discard(broker)
        if kill:
            self.brokers.killed.add(broker)
        self._leaves(broker)

    def fence(self, broker: int) -> None:
        if broker in self.brokers.live:
            self.brokers.fenced.add(broker)
            self._leaves(broker)

    def _leaves(self, broker: int) -> None:
        self.brokers.slow.discard(broker)
        if broker in self.brokers.live:
            self.brokers.live.discard(broker)
            for part in self.parts:
                part.gone(broker)

    def start(self, broker: int) -> None:
        """Starts a dead broker; the heartbeats of a fenced one arrive again."""
        if broker in self.brokers.live:
            return
        self.brokers.live.add(broker)
        self.brokers.fenced.discard(broker)
        killed = broker in self.brokers.killed
        self.brokers.killed.discard(broker)
        for part in self.parts:
            part.registered(broker, killed=killed)

    def restart(self, broker: int) -> None:
        self.stop(broker, kill=False)
        self.start(broker)

    def forbid_unclean(self, topic: str) -> None:
        self.forbidden.add(topic)
        for part in self.parts:
            part.unclean = part.unclean and part.tp.topic != topic

    def lag(self, broker: int) -> None:
        if broker in self.brokers.live:
            self.brokers.slow.add(broker)
            for part in self.parts:
                part.lags(broker)

    def catch_up(self, broker: int) -> None:
        self.brokers.slow.discard(broker)
        if broker in self.brokers.live:
            for part in self.parts:
                part.follow(broker)

    @property
    def leaderless(self) -> list[Partition]:
        return [part for part in self.parts if part.leader < 0]

    def snapshot(self) -> Snapshot:
        paper = kraft(Paper((*BROKERS, WITNESS)))
        paper.min_isr = self.parts[0].min_isr
        for part in self.parts:
            paper.topic(part.tp.topic, 1, replicas=[list(part.replicas)])
        away = [b for b in BROKERS if b not in self.brokers.live]
        for broker in away:
            paper.kill(broker)
        paper.answering |= self.brokers.fenced
        for part in self.parts:
            drawn = paper.parts[part.tp]
            drawn.leader, drawn.isr = part.leader, tuple(part.isr)
            paper.log_ends[part.tp] = {b: tail.end for b, tail in part.tails().items()}
        new = self.parts[0].keeps_eligible
        features = {"metadata.version": 30, ELR_FEATURE: 1} if new else {"metadata.version": 21}
        view = quorum(
            dict.fromkeys(self.brokers.dead, 60.0),
            fenced=tuple(away),
            eligible=self._eligible() if self.eligible_read else {},
            offsets=dict.fromkeys(paper.answering, HIGH),
            features=features,
        )
        if not self.settings_read:
            own = {topic: {UNCLEAN: "false"} for topic in self.forbidden}
            return paper.snapshot(quorum=replace(view, controller_settings={}, topic_settings=own))
        settings = {part.tp.topic: {UNCLEAN: "true" if part.unclean else "false"} for part in self.parts}
        return replace(paper.snapshot(quorum=view), topic_configs=settings)

    def _eligible(self) -> dict[TopicPartition, EligibleLeaders]:
        known = {part.tp: (part.last_known,) if part.last_known >= 0 else () for part in self.leaderless}
        return {part.tp: EligibleLeaders(tuple(part.elr), known[part.tp]) for part in self.leaderless}


#: With acks=1.
WRITE = "write"
LEAVES = ("stop", "kill", "fence")
HAPPENS = (WRITE, *LEAVES, "start", "start", "lag", "lag", "catch up")


def history(size: int) -> st.SearchStrategy[list[tuple[str, int]]]:
    return st.lists(st.tuples(st.sampled_from(HAPPENS), st.sampled_from(BROKERS)), max_size=size)


@st.composite
def clusters(draw: st.DrawFn, *, unread: bool = True, forgets: bool = False, waits: bool = False) -> Cluster:
    """A cluster in which the first partition has no leader, without an unclean election so far.

    Its partitions may allow them by now. If it `forgets`, min.insync.replicas was set on topics without a leader.
    If it `waits`, three replicas were killed one after the other, so that one of them is eligible to lead.
    """
    keeps = forgets or waits or draw(st.booleans())
    min_isr, brokers = 2 if waits else draw(st.sampled_from((2, 1, 3))), Brokers()
    orders = [
        tuple(draw(st.permutations(BROKERS))[: 3 if waits else draw(st.sampled_from((3, 2, 1)))])
        for _ in TPS[: draw(st.sampled_from((2, 1)))]
    ]
    parts = [Partition(tp, brokers, min_isr, order, keeps) for tp, order in zip(TPS, orders, strict=False)]
    cluster = Cluster(brokers, parts)
    for what, broker in draw(history(2 if waits else 8)):
        happen(cluster, what, broker)
    for broker in draw(st.permutations(BROKERS)) if waits else ():
        happen(cluster, "kill", broker)
    while parts[0].leader >= 0:
        happen(cluster, draw(st.sampled_from(LEAVES)), parts[0].leader)
    cluster = _with_some_back(cluster, draw(st.lists(st.sampled_from(BROKERS), unique=True)))
    if unread:
        cluster.eligible_read, cluster.settings_read = draw(st.booleans()), draw(st.sampled_from((True, True, False)))
    for part in cluster.parts:
        if forgets:
            part.forget()
        part.unclean = draw(st.booleans())
    return cluster


def _with_some_back(cluster: Cluster, brokers: list[int]) -> Cluster:
    """Returns the cluster after the start of those of the brokers that do not give the first partition a leader."""
    for broker in brokers:
        tried = copy.deepcopy(cluster)
        happen(tried, "start", broker)
        if tried.parts[0].leader < 0:
            cluster = tried
    return cluster


def happen(cluster: Cluster, what: str, broker: int) -> None:
    """One happening, after which every partition is written to with acks=all, where that is possible."""
    if what == WRITE:
        cluster.parts[broker % len(cluster.parts)].write(everyone=False)
    elif what in {"stop", "kill"}:
        cluster.stop(broker, kill=what == "kill")
    else:
        {"fence": cluster.fence, "start": cluster.start, "lag": cluster.lag, "catch up": cluster.catch_up}[what](broker)
    for part in cluster.parts:
        part.write(everyone=True)
