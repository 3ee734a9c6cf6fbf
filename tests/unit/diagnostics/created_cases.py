"""Clusters whose ZooKeeper assigns partitions that no controller has created (KFX121), and those that look so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.snapshot import Assignment, Snapshot, Source, TopicPartition
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.clusters import base, deleting, no_zookeeper, not_created, stuck_reassignment
from tests.unit.diagnostics.sick import Sick

WARNING, CRITICAL = Severity.WARNING, Severity.CRITICAL
ORDERS = TopicPartition("orders", 0)


def _unreadable(snapshot: Snapshot) -> Snapshot:
    paths = (f"/brokers/topics/orders/partitions/{n}/state" for n in (12, 13))
    return replace(snapshot, sources=(*snapshot.sources, *(Source(f"zookeeper {p}", False, "no JSON") for p in paths)))


def _leaderless() -> Snapshot:
    paper = base().topic("one", 1)
    paper.forget(1)
    return paper.snapshot()


def _restarted() -> Snapshot:
    """The leader has restarted since, and does not know the partition any more."""
    paper = base().topic("one", 1)
    paper.part("one", 0).seen_by = {1: None}
    return paper.snapshot()


def _migrating(snapshot: Snapshot) -> Snapshot:
    assert snapshot.zookeeper is not None
    return replace(snapshot, zookeeper=replace(snapshot.zookeeper, migrating=True))


def untold(paper: Paper, topic: str = "") -> Paper:
    """No broker knows the partitions of this topic, or any at all, although ZooKeeper records their leaders."""
    for tp, part in paper.parts.items():
        if topic in ("", tp.topic):
            part.seen_by = dict.fromkeys(paper.brokers)
    return paper


def hidden(paper: Paper, source: str) -> Snapshot:
    paper.failed = {source: "TOPIC_AUTHORIZATION_FAILED"}
    return paper.snapshot()


def _without_leaders_answer() -> Snapshot:
    paper = untold(base().topic("ghost", 1), "ghost")
    paper.answering.discard(1)
    paper.silent = {1: "timed out"}
    return paper.snapshot()


def erased(snapshot: Snapshot, topic: str) -> Snapshot:
    """The znode of a topic is gone, and the brokers go on serving it."""
    zookeeper = snapshot.zookeeper
    assert zookeeper is not None
    kept = {tp: a for tp, a in zookeeper.assignments.items() if tp.topic != topic}
    states = {tp: s for tp, s in zookeeper.states.items() if tp.topic != topic}
    return replace(snapshot, zookeeper=replace(zookeeper, assignments=kept, states=states))


def edited(snapshot: Snapshot, tp: TopicPartition, replicas: Assignment) -> Snapshot:
    """ZooKeeper lists other replicas of a partition than the brokers report."""
    zookeeper = snapshot.zookeeper
    assert zookeeper is not None
    return replace(snapshot, zookeeper=replace(zookeeper, assignments={**zookeeper.assignments, tp: replicas}))


def _unread(snapshot: Snapshot, name: str) -> Snapshot:
    return replace(snapshot, sources=(*snapshot.sources, Source(name, ok=False, error="no JSON")))


def _deleted_while_away(*, cut_off: bool) -> Snapshot:
    """Broker 4 missed that a topic was deleted: it has none of its replicas, or is cut off from ZooKeeper."""
    paper = Paper((1, 2, 3, 4)).offsets(50, rf=3).topic("old", 1, replicas=[[4, 1] if cut_off else [1, 2]])
    paper.part("old", 0).seen_by = {1: None, 2: None, 3: None}
    if cut_off:
        del paper.registered[4]
    return erased(paper.snapshot(), "old")


SICK: dict[str, list[Sick]] = {
    "KFX121": [
        Sick(lambda: not_created(base(), (1, 2, 3)), "topics in ZooKeeper", CRITICAL),
        Sick(lambda: not_created(base().kill(3), (3,)), "replicas on broker 3", CRITICAL),
        Sick(lambda: untold(base().topic("ghost", 1), "ghost").snapshot(), "leaders in ZooKeeper", CRITICAL),
        Sick(lambda: untold(base()).snapshot(), "leaders in ZooKeeper", CRITICAL),
    ],
    "KFX205": [
        Sick(lambda: erased(base().snapshot(), "orders"), "served without a record", WARNING),
        Sick(lambda: erased(base().topic("one", 1).kill(1).snapshot(), "one"), "served without a record", WARNING),
        Sick(lambda: erased(_leaderless(), "one"), "leaderless without a record", CRITICAL),
        Sick(lambda: erased(_restarted(), "one"), "leaderless without a record", CRITICAL),
        Sick(lambda: edited(base().snapshot(), ORDERS, Assignment((1,))), "other replicas", WARNING),
    ],
}

WELL: dict[str, list[Callable[[], Snapshot]]] = {
    "KFX121": [
        lambda: base().snapshot(),
        lambda: deleting().snapshot(),
        # The state is there, and could not be decoded.
        lambda: _unreadable(not_created(base(), (1, 2, 3))),
        # The record of a cluster whose KRaft controller has taken over.
        lambda: _migrating(not_created(base(), (1, 2, 3))),
        lambda: _migrating(untold(base().topic("ghost", 1), "ghost").snapshot()),
        lambda: untold(deleting(), "old").snapshot(),
        # Brokers may hide topics that this client may not describe.
        lambda: hidden(untold(base().topic("ghost", 1), "ghost"), "topics of broker 1"),
        lambda: hidden(untold(base().topic("ghost", 1), "ghost"), "configs of broker 2"),
        # What a leader that does not answer knows, no source shows.
        _without_leaders_answer,
    ],
    "KFX205": [
        lambda: base().snapshot(),
        lambda: no_zookeeper(base()).snapshot(),
        lambda: erased(deleting().snapshot(), "old"),
        lambda: _migrating(erased(base().snapshot(), "orders")),
        lambda: _unread(erased(base().snapshot(), "orders"), "znode /brokers/topics/orders"),
        lambda: _unread(erased(base().snapshot(), "orders"), "znodes"),
        lambda: _deleted_while_away(cut_off=False),
        lambda: _deleted_while_away(cut_off=True),
        lambda: edited(base().snapshot(), ORDERS, Assignment((3, 2, 1))),
        lambda: edited(base().snapshot(), ORDERS, Assignment((1, 2, 3, 4), (4,), ())),
        lambda: stuck_reassignment().snapshot(),
    ],
}
