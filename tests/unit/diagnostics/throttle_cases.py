"""Clusters with left-over replication throttles (KFX503), and clusters that nearly have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.snapshot import Assignment, Snapshot, TopicPartition
from tests.unit.diagnostics import kraft_clusters
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


def throttled_on_kraft(*topics: str, **changes: Any) -> Snapshot:
    """A broker reports these topics as throttled; of them, only orders is in the metadata of any broker."""
    view = kraft_clusters.quorum(topic_settings=dict.fromkeys(topics, LISTS), **changes)
    return kraft_clusters.kraft(base()).snapshot(quorum=view, reassignments={})


def of_a_stale_broker(topic: str) -> Snapshot:
    """Broker 1 has not yet applied the deletion of the topic, which it still lists and calls throttled."""
    snapshot = throttled_on_kraft(
        topic, offsets={1: kraft_clusters.HIGH - 9000, 2: kraft_clusters.HIGH, 3: kraft_clusters.HIGH}
    )
    view = snapshot.views[1]
    late = replace(view, partitions={**view.partitions, TopicPartition(topic, 0): next(iter(view.partitions.values()))})
    return replace(snapshot, views={**snapshot.views, 1: late})


SICK: dict[str, list[Sick]] = {
    "KFX503": [
        Sick(lambda: throttled().snapshot(), "replication throttles", WARNING),
        Sick(lambda: throttled(lists={}).snapshot(), "replication throttles", INFO),
        Sick(lambda: throttled(rates={}).snapshot(), "replication throttles", INFO),
        Sick(lambda: throttled_on_kraft("orders"), "replication throttles", INFO),
    ],
}

WELL: dict[str, list[Callable[[], Snapshot]]] = {
    "KFX503": [
        lambda: throttled(moving=True).snapshot(),
        lambda: throttled().snapshot(reassignments={TopicPartition("orders", 0): Assignment((1, 2, 3), (3,))}),
        lambda: throttled(rates={}, lists={"leader.replication.throttled.replicas": ""}).snapshot(),
        lambda: throttled(rates={"leader.replication.throttled.rate": str(2**63 - 1)}, lists={}).snapshot(),
        lambda: no_zookeeper(throttled()).snapshot(),
        lambda: throttled_on_kraft("deleted"),
        lambda: of_a_stale_broker("deleted"),
    ],
}
