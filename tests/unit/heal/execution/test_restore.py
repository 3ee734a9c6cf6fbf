"""Whose moves are still under way when a run ends, and the command that reverts what stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kfix.core.snapshot.snapshot import Assignment
from kfix.heal.execution.context import OpenRun, RunProgress
from kfix.heal.execution.restore import InterruptedMoves, Way, choose, moves_of, rollback_command, still_moving
from kfix.heal.journal.journal import Terminated
from kfix.heal.model.plan import Gate
from kfix.heal.policy import NO_POLICY, Policy
from kfix.heal.safety.door import Door
from tests.each import for_each
from tests.unit.heal.execution.parts import growing, parts
from tests.unit.heal.stage import READS_SECONDS, Answers, Stage


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
    with parts(weak, plan) as (run, _):
        weak.cluster.faults.unreadable["reassignments"] = "gone"
        run.progress.issued.extend((step, other))
        run.progress.verified.add(other.id)
        found = moves_of(run)
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


# Copies of an interrupted run: a person decides, within the site's policy; without one they are left as they are.

CANCEL_IS_TYPED = Policy({"reassign.cancel": Gate.TYPED})


@contextmanager
def asked(folder: Path, answers: list[str], policy: Policy = NO_POLICY) -> Iterator[tuple[OpenRun, Stage]]:
    stage = Stage("weak-topic", folder, runbook="raise-topic-rf")
    stage.human = Answers(answers, reads=lambda: stage.cluster.clock.sleep(READS_SECONDS))
    plan, _ = growing(stage)
    with parts(stage, plan) as (run, _):
        run.passage._door = Door(stage.cluster, policy, tuple, stage.cluster.clock)
        yield run, stage


def chosen(folder: Path, answers: list[str], *, end: KeyboardInterrupt, throttled: bool, policy: Policy) -> Way:
    with asked(folder, answers, policy) as (run, stage):
        _, step = growing(stage)
        return choose(run, InterruptedMoves((step,)), end, throttled=throttled)


@for_each(
    ("answers", "throttled", "policy", "way"),
    [
        ([""], True, NO_POLICY, Way.LEAVE),
        ([], True, NO_POLICY, Way.LEAVE),
        (["c"], True, NO_POLICY, Way.CANCEL),
        (["C"], False, NO_POLICY, Way.CANCEL),
        (["u"], True, NO_POLICY, Way.UNTHROTTLED),
        (["u", "u", "u", "c"], False, NO_POLICY, Way.LEAVE),
        (["c", "c", "c", "c"], True, CANCEL_IS_TYPED, Way.LEAVE),
        (["c", "u"], True, CANCEL_IS_TYPED, Way.UNTHROTTLED),
        (["x", "yes", "cancel", "c"], True, NO_POLICY, Way.LEAVE),
    ],
)
def test_only_what_the_screen_offers_is_done(
    tmp_path: Path, answers: list[str], throttled: bool, policy: Policy, way: Way
) -> None:
    assert chosen(tmp_path, answers, end=KeyboardInterrupt(), throttled=throttled, policy=policy) is way


def test_a_process_that_is_terminated_asks_no_one(tmp_path: Path) -> None:
    assert chosen(tmp_path, ["c"], end=Terminated(), throttled=True, policy=NO_POLICY) is Way.LEAVE


@pytest.mark.parametrize("policy", [NO_POLICY, CANCEL_IS_TYPED])
def test_the_screen_offers_a_cancel_only_where_the_policy_allows_it(tmp_path: Path, policy: Policy) -> None:
    with asked(tmp_path, [""], policy) as (run, stage):
        _, step = growing(stage)
        choose(run, InterruptedMoves((step,)), KeyboardInterrupt(), throttled=True)
        assert ("[c]" in stage.human.asked[0]) is (policy is NO_POLICY)
        assert ("does not allow cancelling" in stage.human.shown[0]) is (policy is not NO_POLICY)
