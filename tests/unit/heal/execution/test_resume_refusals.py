"""A run that must not be continued: it has ended, was rolled back, is damaged, or its plan could no longer begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from kfix.core.errors import ApprovalError, HeldError, RefusedError, StoppedError
from kfix.heal.execution.run import resume
from kfix.heal.journal.runs import RunDir, RunStore
from kfix.heal.safety.outcomes import Outcome
from tests.unit.heal.stage import Answers, Stage, reseal


def interrupted(stage: Stage) -> RunDir:
    """Returns a run that was interrupted in its change: an intent without a result."""

    def dies() -> None:
        raise KeyboardInterrupt

    stage.cluster.faults.before("reassign", dies)
    with pytest.raises(StoppedError, match="interrupted"):
        stage.run()
    return stage.last_run


def declined(stage: Stage) -> RunDir:
    stage.human = Answers(["n"])
    with pytest.raises(ApprovalError):
        stage.run()
    stage.human = Answers(["y"] * 9)
    return stage.last_run


def refused(stage: Stage, run: RunDir, why: str) -> None:
    """Asserts that a resume is refused, sends nothing and writes nothing."""
    journal, calls = run.journal_path.read_bytes(), stage.methods()
    with pytest.raises(RefusedError, match=why):
        resume(run, stage.context())
    assert (run.journal_path.read_bytes(), stage.methods()) == (journal, calls)


def test_a_run_that_has_ended_is_not_resumed(stage: Stage) -> None:
    assert stage.run().outcome is Outcome.PROVED
    refused(stage, stage.last_run, r"has ended \(proved\): there is nothing to resume")


def test_a_run_that_another_resume_has_ended_meanwhile_is_not_resumed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends while this one waits for the lock, after its journal was read for the first time."""
    run, admit = interrupted(stage), stage.context().door.admit
    context = stage.context()

    def other_first(plan: object) -> object:
        monkeypatch.setattr(context.door, "admit", admit)
        resume(run, stage.context())
        return admit(plan)  # type: ignore[arg-type]

    monkeypatch.setattr(context.door, "admit", other_first)
    with pytest.raises(RefusedError, match="there is nothing to resume"):
        resume(run, context)
    assert [record["type"] for record in stage.journal()].count("run.end") == 2


@pytest.mark.parametrize("before", [interrupted, declined])
def test_a_run_that_was_rolled_back_is_not_resumed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, before: Callable[[Stage], RunDir]
) -> None:
    run = before(stage)
    monkeypatch.setattr(RunStore, "rolled_back_by", lambda *_: run)
    refused(stage, run, "was rolled back by")


def test_a_run_without_changes_is_resumed_only_while_its_plan_could_begin(stage: Stage) -> None:
    run = declined(stage)
    stage.cluster.clock.sleep(30 * 60 + 1)
    refused(stage, run, "left no changes, and its plan has expired")


def test_a_run_with_changes_is_resumed_after_its_plan_expired(stage: Stage) -> None:
    def dies(record: Mapping[str, object]) -> None:
        if record["type"] == "step.result":
            raise KeyboardInterrupt

    with pytest.raises(StoppedError, match="interrupted"):
        stage.run(listener=dies)
    run = stage.last_run
    stage.cluster.clock.sleep(30 * 60 + 1)
    assert resume(run, stage.context()).outcome is Outcome.PROVED
    assert run.journal().broken == ""


def test_a_run_with_a_damaged_journal_is_not_resumed(stage: Stage) -> None:
    run = interrupted(stage)
    whole = run.journal_path.read_bytes()
    run.journal_path.write_bytes(whole.replace(b'"step.intent"', b'"step.intend"'))
    refused(stage, run, "what the run did after that is unknown")


# -- plans and the time


@pytest.mark.parametrize(("ahead", "runs"), [(299.0, True), (301.0, False)])
def test_a_plan_from_the_future_is_refused_unless_two_clocks_explain_it(stage: Stage, ahead: float, runs: bool) -> None:
    plan = stage.plan()
    later = reseal(plan, created=replace(plan.created, at=plan.created.at + ahead))
    if runs:
        assert stage.run(later).outcome is Outcome.PROVED
        return
    with pytest.raises(RefusedError, match="but it is now") as caught:
        stage.run(later)
    assert "correct the clocks" in caught.value.hint
    assert [*stage.store.runs()] == []


def test_a_plan_that_has_just_expired_does_not_even_begin(stage: Stage) -> None:
    plan = stage.plan()
    stage.cluster.clock.sleep(plan.expires_at - stage.cluster.clock.now() + 1)
    with pytest.raises(RefusedError, match="expired at"):
        stage.run(plan)
    assert [*stage.store.runs()] == []


@pytest.mark.parametrize(("boot", "step"), [("", 24 * 3600.0), ("", -7200.0), ("later", -7200.0)])
def test_a_clock_that_is_set_does_not_end_the_cooldown(stage: Stage, boot: str, step: float) -> None:
    stage.run()
    clock = stage.cluster.clock
    if boot:
        clock.reboot(boot)
    clock.sleep(5)
    clock.step(step)
    stage.cluster.corrupt_state(stage.finding.partitions[0], leader=2, isr=(2,))
    with pytest.raises(HeldError, match="its cooldown is"):
        stage.run()
