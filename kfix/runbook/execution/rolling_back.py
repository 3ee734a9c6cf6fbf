"""Runs a plan, and takes it back where a step failed whose runbook says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kfix import __version__
from kfix.errors import KfixError, RollbackFailedError, RolledBackError, UnreachableError
from kfix.harmless import lines
from kfix.model.plan.plan import Created, Gate, Plan
from kfix.runbook.execution.context import Context, RunResult
from kfix.runbook.execution.run import run_plan, whoami
from kfix.runbook.gate.gates import Given
from kfix.runbook.journal.runs import RunDir
from kfix.runbook.rollback.planning import make_rollback
from kfix.runbook.safety.outcomes import RollBackWanted


def run_or_roll_back(plan: Plan, scene: Context) -> RunResult:
    """As `run_plan`; where a step failed whose runbook says so, the run is taken back under the same approval."""
    return or_roll_back(lambda: run_plan(plan, scene), scene)


def or_roll_back(attempt: Callable[[], RunResult], scene: Context) -> RunResult:
    """Exit 7 where it was taken back, 8 where a person is needed. Good copies that it made are kept."""
    try:
        return attempt()
    except RollBackWanted as wanted:
        failed = wanted
    created = Created(scene.clock.now(), str(whoami()["user"]), str(whoami()["host"]), __version__)
    try:
        run = RunDir(scene.store.runs_dir / failed.run)
        undo = scene.door.policy.raised(make_rollback(run, scene.reader, created, everything=False))
        # Who approved the plan approved "take back on failure"; what needs more than that asks by itself.
        healed = run_plan(undo, replace(scene, given=Given(level=Gate.PLAN)))
    except (KfixError, UnreachableError) as error:
        why = lines("and it could not all be taken back: ") + str(error).removesuffix("; nothing was changed")
        raise RollbackFailedError(lines(str(failed), why), hint=error.hint) from error
    raise RolledBackError(lines(str(failed), f"it was taken back, proved (run {healed.run})"), hint=failed.hint)
