"""Partitions that look as if an election or a coordinator were missing, and have another cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kfix.core.snapshot.snapshot import CoordinatorProbe, Snapshot
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.leadership.kfx106_coordinator_silent import NO_ANSWER
from tests.each import for_each
from tests.unit.diagnostics import disk_clusters
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.clusters import G2, base, coordinator_stuck, isr_gone, partitions_stuck

LEADERLESS = {"KFX101", "KFX102", "KFX103", "KFX104", "KFX107", "KFX119"}


def codes(snapshot: Snapshot) -> set[str]:
    return {finding.code for finding in diagnose(snapshot).walk()}


@for_each("make", [coordinator_stuck, isr_gone, lambda: partitions_stuck(3)])
def test_a_topic_that_is_being_deleted_needs_no_leader(make: Callable[[], Paper]) -> None:
    assert codes(make().snapshot()) & LEADERLESS
    paper = make()
    paper.deleting = frozenset(tp.topic for tp in paper.parts)
    assert not codes(paper.snapshot()) & LEADERLESS


def test_no_coordinator_is_elected_from_a_failed_log_directory() -> None:
    snapshot = coordinator_stuck().snapshot()
    assert "KFX101" in codes(snapshot)
    assert snapshot.zookeeper is not None
    for broker in snapshot.zookeeper.states[G2].isr:
        snapshot = disk_clusters.offline(snapshot, broker, [G2])
    assert "KFX101" not in codes(snapshot)


@for_each(
    ("find_error", "fetch_error", "silent"),
    [(0, 0, False), (0, NO_ANSWER, True), (0, 16, True), (15, None, True), (NO_ANSWER, None, False), (0, 30, False)],
)
def test_a_coordinator_that_no_broker_could_be_asked_for_is_not_silent(
    find_error: int, fetch_error: int | None, silent: bool
) -> None:
    snapshot = base().snapshot()
    assert snapshot.zookeeper is not None
    leader = snapshot.zookeeper.states[G2].leader
    probe = CoordinatorProbe("g2", G2.partition, find_error, leader if not find_error else None, fetch_error)
    assert ("KFX106" in codes(replace(snapshot, probes=(probe,)))) is silent
