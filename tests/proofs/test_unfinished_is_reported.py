"""Proof: killed at any moment, a run is told by the next diagnosis as soon as it may have changed anything."""

from __future__ import annotations

from pathlib import Path

from kfix.heal.journal.runs import unfinished
from kfix.heal.memory.configs import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from tests.proofs.killing import Uninterrupted
from tests.proofs.scenarios import SCENARIOS
from tests.proofs.stage import Moment


def is_throttled(moment: Moment) -> bool:
    brokers = (broker.configs for broker in moment.cluster.brokers.values())
    topics = moment.cluster.records.topic_configs.values()
    keys = {FOLLOWER_RATE, LEADER_RATE, FOLLOWER_REPLICAS, LEADER_REPLICAS}
    return any(keys & set(config) for config in (*brokers, *topics))


def test_a_run_killed_at_any_moment_is_reported_once_it_may_have_changed_something(tmp_path: Path) -> None:
    good = Uninterrupted(SCENARIOS["raise-topic-rf"], tmp_path)
    told = 0
    for moment in good.moments:
        found = unfinished(moment.home / "runs", good.plan.cluster.name)
        has_ended = "run.end" in moment.what
        assert bool(found) == (bool(moment.cluster.faults.calls) and not has_ended) or "step.intent" in moment.what
        assert len(found) <= 1
        for run in found:
            assert {*run.changed, *run.doubtful}, moment.what
            # A throttle whose intent is written may or may not be set; one that is set is told.
            assert run.throttles or not is_throttled(moment), moment.what
            told += 1
    assert told > 20
