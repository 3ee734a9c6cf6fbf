"""Carries out the steps of a plan in order: is the step needed, guards, gate, change, verification.

It knows no planner and no template: it executes what the plan states, literally.
"""

from collections.abc import Sequence

from kfix.core.harmless import lines
from kfix.core.wording import utc_iso
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution import asking, change, guards, settle, watch
from kfix.heal.execution.context import OpenRun
from kfix.heal.execution.settle import Unproved
from kfix.heal.model.answer import Verdict
from kfix.heal.model.plan import CheckCall, OnFailure, Phase, PlannedStep
from kfix.heal.plan.steps import Batch
from kfix.heal.safety.outcomes import Outcome, Stop


def visit(run: OpenRun, batch: Batch) -> None:
    """Issues all steps of a batch, then waits for all of them together."""
    issued: list[PlannedStep] = []
    for number, step in batch:
        if step.id in run.progress.done:
            if step.id not in run.progress.verified:
                issued.append(step)
        elif _begin_or_skip(run, number, step):
            issued.append(step)
    if not issued:
        return
    failures = settle.wait(run, issued)
    for step in issued:
        # A move passes through intermediate states; later steps rest on its final one.
        if ACTIONS[step.action].changes:
            change.look_again(run, step)
            change.record_new_facts(run, step)
    for failure in failures:
        _failed(run, failure)
    pause = max(step.pause for step in issued)
    if pause:
        until = utc_iso(run.clock.now() + pause)
        run.journal.write("pause.batch", until=until, seconds_left=round(pause))
        run.clock.sleep(pause)


def _begin_or_skip(run: OpenRun, number: int, step: PlannedStep) -> bool:
    try:
        return _begin(run, number, step)
    except Stop as stop:
        if step.on_failure is not OnFailure.CONTINUE or stop.outcome is not Outcome.REFUSED:
            raise
        run.journal.write("step.refused", step=step.id, text=str(stop))
        run.progress.refused.append(str(stop))
        return False


def _begin(run: OpenRun, number: int, step: PlannedStep) -> bool:
    """Returns whether there is something to wait for."""
    if _not_needed(run, step):
        return False
    guards.check(run, step)
    changes = ACTIONS[step.action].changes
    if changes:
        watch.before_change(run, step)
    asked = not run.gatekeeper.open_without_asking(step)
    if asked and not asking.gate(run, number, step):
        return False
    if changes and step.phase is Phase.MAIN:
        asked |= asking.phrases_first(run)
    # The answer may have taken minutes, and the cluster may have healed meanwhile.
    if asked and _not_needed(run, step):
        return False
    if not changes:
        until = utc_iso(run.clock.now() + step.verify_timeout)
        left = round(step.verify_timeout)
        run.journal.write("step.waiting", step=step.id, what=step.what, until=until, seconds_left=left)
        return True
    watch.before_change(run, step)
    result = change.make(run, step)
    if result.accepted or result.unknown:
        return True
    if not _passes(run, step.verify, step, "verify"):
        refusal = f"the cluster refused it: {result.name} {result.message}".strip()
        _failed(run, Unproved(step, Verdict.FAIL, f"{refusal}; this step changed nothing"))
    return False


def _not_needed(run: OpenRun, step: PlannedStep) -> bool:
    """Returns whether the goal is met already, or the effect of this step is already there."""
    if step.phase is Phase.MAIN and (run.progress.goal_met or _passes(run, run.plan.goal.checks, step, "goal")):
        run.progress.goal_met = True
        run.journal.write("step.skipped", step=step.id, why="goal_met")
        return True
    if _passes(run, step.unless, step, "unless"):
        run.journal.write("step.skipped", step=step.id, why="not_needed")
        return True
    return False


def _passes(run: OpenRun, checks: Sequence[CheckCall], step: PlannedStep, part: str) -> bool:
    return bool(checks) and not guards.first_missing(run, checks, part, step.id)


def _failed(run: OpenRun, failure: Unproved) -> None:
    step, text = (
        failure.step,
        lines(f"step {failure.step.id} could not be verified ({failure.verdict}): ") + failure.text,
    )
    match step.on_failure:
        case OnFailure.NEXT if step.phase is Phase.MAIN:
            return
        case OnFailure.CONTINUE:
            run.progress.refused.append(text)
        case OnFailure.ASK:
            if not asking.confirm_continue(run, step, text):
                raise Stop(Outcome.STEP_FAILED, text)
        case OnFailure.ROLLBACK:
            raise Stop(Outcome.ROLL_BACK, text)
        case _:
            raise Stop(Outcome.STEP_FAILED, text)
