"""What must not run: a world that changed, a plan that is old, foreign or spent, a cluster that is held."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.errors import (
    ApprovalError,
    HeldError,
    RefusedError,
)
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.heal.execution.locks import cluster_lock
from kfix.heal.safety.outcomes import Outcome
from tests.unit.heal.stage import Answers, Stage, reseal
from tests.waiting import seconds

TP = TopicPartition("__consumer_offsets", 26)
Stages = Callable[[str], Stage]


# -- stale (tests/proofs/test_stale.py has every kind of fact, changed between plan and apply)


def _state(stage: Stage, **changes: object) -> None:
    state = stage.cluster.records.states[TP]
    stage.cluster.records.states[TP] = state._replace(**changes)  # type: ignore[arg-type]


FACTS: dict[str, Callable[[Stage], None]] = {
    f"{TP}.assignment": lambda s: s.cluster.records.assignments.update({TP: Assignment((1, 2, 3))}),
    f"{TP}.leader_epoch": lambda s: _state(s, leader_epoch=9),
    "__consumer_offsets-0.partition_count": lambda s: s.cluster.records.assignments.update(
        {TopicPartition("__consumer_offsets", 50): Assignment((1, 2, 3))}
    ),
}


def test_a_reassignment_that_began_between_plan_and_apply_stops_the_run(stage: Stage) -> None:
    plan = stage.plan()
    stage.cluster.records.assignments[TP] = Assignment((3, 1, 2), adding=(4,))
    with pytest.raises(RefusedError, match="no_reassignment"):
        stage.run(plan)


@pytest.mark.parametrize("key", FACTS)
def test_a_fact_that_changes_while_the_human_thinks_stops_the_step(stage: Stage, key: str) -> None:
    stage.human.then = lambda: FACTS[key](stage)
    with pytest.raises(RefusedError, match="the cluster has changed"):
        stage.run()
    assert stage.methods() == []


def test_facts_that_cannot_be_read_again_are_not_taken_for_unchanged(stage: Stage) -> None:
    stage.human.then = lambda: stage.cluster.faults.unreadable.update(zookeeper="gone")
    with pytest.raises(RefusedError):
        stage.run()
    assert stage.methods() == []
    [end] = [r for r in stage.journal() if r["type"] == "run.end"]
    assert end["outcome"] == "refused"
    assert end["why"].startswith("precondition cluster_reachable(): inconclusive: zookeeper: gone")


# -- plans that must not run


def test_a_plan_of_another_kfix_is_refused(stage: Stage) -> None:
    plan = stage.plan()
    with pytest.raises(RefusedError, match=r"was made by kfix 9\.9; this is"):
        stage.run(reseal(plan, created=replace(plan.created, kfix="9.9")))


def test_a_plan_runs_once(stage: Stage) -> None:
    plan = stage.plan()
    healed = stage.run(plan)
    with pytest.raises(RefusedError, match=f"already run as {healed.run}") as caught:
        stage.run(plan)
    assert "verify" in caught.value.hint


def test_a_run_whose_journal_is_damaged_counts_as_run(stage: Stage) -> None:
    plan = stage.plan()
    stage.human = Answers(["n"])
    with pytest.raises(ApprovalError):
        stage.run(plan)
    path = stage.last_run.journal_path
    path.write_bytes(path.read_bytes().replace(b"lock.taken", b"lock.token"))
    with pytest.raises(RefusedError, match="already run"):
        stage.run(plan)


def test_two_runs_for_one_finding_wait_for_the_cooldown(stage: Stage, tmp_path: Path) -> None:
    healed = stage.run()
    again = Stage("coordinator-stuck", tmp_path)
    again.cluster.clock.slept = stage.cluster.clock.slept + 10
    with pytest.raises(HeldError, match=f"changed .* in run {healed.run}") as caught:
        again.run()
    assert caught.value.exit_code == 9
    again.cluster.clock.slept += 60
    assert again.run().outcome is Outcome.PROVED


def test_a_held_cluster_names_who_since_when_and_which_plan(stage: Stage) -> None:
    holder = {"user": "anna", "host": "ops1", "pid": "7", "plan": "aaaaaaaa", "run": "r", "since": "12:00"}
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with cluster_lock(stage.store.locks_dir, "memory-cluster", holder):
            taken.set()
            done.wait(seconds(10))

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(seconds(10))
    try:
        with pytest.raises(HeldError, match=r"held by anna \(process 7 on ops1\) since 12:00: run r, plan aaaaaaaa"):
            stage.run()
    finally:
        done.set()
        thread.join()
    assert stage.run().outcome is Outcome.PROVED
