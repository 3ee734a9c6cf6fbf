"""Whose moves are still under way when a run ends, and the command that reverts what stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from kfix.core.snapshot.snapshot import Assignment
from kfix.heal.execution.context import RunProgress
from kfix.heal.execution.restore import moves_of, rollback_command, still_moving
from tests.unit.heal.execution.parts import growing, parts
from tests.unit.heal.stage import Stage


@pytest.fixture
def weak(tmp_path: Path) -> Stage:
    return Stage("weak-topic", tmp_path, runbook="raise-topic-rf")


@pytest.mark.parametrize(
    ("adding", "undone", "own"), [(None, False, True), ((9,), False, False), (None, True, False), ((), False, False)]
)
def test_only_the_runs_own_moves_are_still_under_way(
    weak: Stage, adding: tuple[int, ...] | None, undone: bool, own: bool
) -> None:
    """It may have ended, been cancelled by the run, or been replaced by that of somebody else."""
    _, step = growing(weak)
    now, wanted = step.args.brokers("before"), step.args.brokers("replicas")
    new = tuple(b for b in wanted if b not in now) if adding is None else adding
    weak.cluster.records.assignments[step.args.tp()] = Assignment((*now, *new), adding=new)
    progress = RunProgress(issued=[step], undone={step.id: "cancelled"} if undone else {})
    assert still_moving(progress, weak.cluster) == ((step,) if own else ())


def test_where_the_moves_cannot_be_read_all_that_are_not_verified_count_as_under_way(weak: Stage) -> None:
    plan, step = growing(weak)
    other = next(each for each in plan.steps if each.action == "reassign.move" and each != step)
    with parts(weak, plan) as (components, _):
        weak.cluster.faults.unreadable["reassignments"] = "gone"
        components.run.progress.issued.extend((step, other))
        components.run.progress.verified.add(other.id)
        found = moves_of(components.run)
    assert (found.steps, found.unknown) == ((step,), "reassignments: gone")


@pytest.mark.parametrize(("moving", "every"), [(False, " --all"), (True, "")])
def test_a_rollback_of_finished_copies_needs_all_and_one_of_a_move_does_not(
    weak: Stage, moving: bool, every: str
) -> None:
    plan, step = growing(weak)
    progress = RunProgress(changed={step.id: step.what})
    command = rollback_command(plan, "r1", progress, (step,) if moving else ())
    assert command == f"kfix runbook rollback r1{every}"
    assert rollback_command(plan, "r1", RunProgress(), ()) == ""
