"""Runs a plan, and rolls it back if a step with `on_failure: rollback` fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kfix.core.errors import KfixError, RollbackFailedError, RolledBackError, UnreachableError
from kfix.core.harmless import lines
from kfix.heal.execution.context import Context, RunResult
from kfix.heal.execution.run import created_now, run_plan
from kfix.heal.gate.gates import Given
from kfix.heal.journal.runs import RunDir
from kfix.heal.model.plan import Gate, Plan
from kfix.heal.rollback.planning import make_rollback
from kfix.heal.safety.outcomes import RollBackWanted


def run_or_roll_back(plan: Plan, context: Context) -> RunResult:
    """As `run_plan`. If a step with `on_failure: rollback` fails, the run is rolled back under the same approval."""
    return or_roll_back(lambda: run_plan(plan, context), context)


def or_roll_back(attempt: Callable[[], RunResult], context: Context) -> RunResult:
    """Returns what `attempt` returns, or rolls the run back.

    Raises RolledBackError (exit code 7) if that succeeded, RollbackFailedError (8) if an operator is needed. Finished
    copies are kept.
    """
    try:
        return attempt()
    except RollBackWanted as wanted:
        failed = wanted
    created = created_now(context.clock.now())
    try:
        run = RunDir(context.store.runs_dir / failed.run)
        undo = context.door.policy.raised(make_rollback(run, context.reader, created, everything=False))
        # Approving the plan approved its rollback on failure; steps with a higher gate still ask.
        result = run_plan(undo, replace(context, given=Given(level=Gate.PLAN)))
    except (KfixError, UnreachableError) as error:
        why = lines("and the rollback did not complete: ") + str(error).removesuffix("; nothing was changed")
        raise RollbackFailedError(lines(str(failed), why), hint=error.hint) from error
    raise RolledBackError(
        lines(str(failed), f"it was rolled back, and the rollback is proved (run {result.run})"), hint=failed.hint
    )
