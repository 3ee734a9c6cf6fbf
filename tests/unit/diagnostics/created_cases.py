"""Clusters whose ZooKeeper assigns partitions that no controller has created (KFX121), and those that look so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kfix.model.cluster.snapshot import Snapshot, Source
from kfix.model.diagnosis.finding import Severity
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.clusters import base, deleting, not_created
from tests.unit.diagnostics.sick import Sick

CRITICAL = Severity.CRITICAL


def _unreadable(snapshot: Snapshot) -> Snapshot:
    paths = (f"/brokers/topics/orders/partitions/{n}/state" for n in (12, 13))
    return replace(snapshot, sources=(*snapshot.sources, *(Source(f"zookeeper {p}", False, "no JSON") for p in paths)))


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


SICK: dict[str, list[Sick]] = {
    "KFX121": [
        Sick(lambda: not_created(base(), (1, 2, 3)), "topics in ZooKeeper", CRITICAL),
        Sick(lambda: not_created(base().kill(3), (3,)), "replicas on broker 3", CRITICAL),
        Sick(lambda: untold(base().topic("ghost", 1), "ghost").snapshot(), "leaders in ZooKeeper", CRITICAL),
        Sick(lambda: untold(base()).snapshot(), "leaders in ZooKeeper", CRITICAL),
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
}
