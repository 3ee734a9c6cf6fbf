"""Clusters with left-over replication throttles (KFX503), and clusters that nearly have them."""

from __future__ import annotations

from collections.abc import Callable

from kfix.model.cluster.snapshot import Assignment, Snapshot, TopicPartition
from kfix.model.diagnosis.finding import Severity
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.clusters import base, no_zookeeper
from tests.unit.diagnostics.sick import Sick

INFO, WARNING = Severity.INFO, Severity.WARNING
RATES = {f"{side}.replication.throttled.rate": "1000" for side in ("leader", "follower")}
LISTS = {f"{side}.replication.throttled.replicas": "0:1,0:2,0:3" for side in ("leader", "follower")}


def throttled(
    *, rates: dict[str, str] | None = None, lists: dict[str, str] | None = None, moving: bool = False
) -> Paper:
    """A tool that was killed left its throttles on two brokers and on a topic."""
    paper = base()
    paper.broker_settings = {broker: dict(RATES if rates is None else rates) for broker in (1, 2)}
    paper.topic_settings = {"orders": dict(LISTS if lists is None else lists)}
    if moving:
        paper.part("orders", 0).adding = (3,)
    return paper


SICK: dict[str, list[Sick]] = {
    "KFX503": [
        Sick(lambda: throttled().snapshot(), "replication throttles", WARNING),
        Sick(lambda: throttled(lists={}).snapshot(), "replication throttles", INFO),
        Sick(lambda: throttled(rates={}).snapshot(), "replication throttles", INFO),
    ],
}

WELL: dict[str, list[Callable[[], Snapshot]]] = {
    "KFX503": [
        lambda: throttled(moving=True).snapshot(),
        lambda: throttled().snapshot(reassignments={TopicPartition("orders", 0): Assignment((1, 2, 3), (3,))}),
        lambda: throttled(rates={}, lists={"leader.replication.throttled.replicas": ""}).snapshot(),
        lambda: throttled(rates={"leader.replication.throttled.rate": str(2**63 - 1)}, lists={}).snapshot(),
        lambda: no_zookeeper(throttled()).snapshot(),
    ],
}
