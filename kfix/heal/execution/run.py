"""One run of one plan: refusals first, then locks and journal, then the execution.

Resume, abort and verify start here too: each reads the journal of an earlier run.
"""

import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

from kfix import __version__
from kfix.core.errors import HeldError, KfixError, RefusedError, RollbackFailedError, RolledBackError, UnreachableError
from kfix.core.harmless import lines
from kfix.core.ports import Clock, ClusterReader
from kfix.core.private import user_name
from kfix.core.run import Aborted
from kfix.core.wording import utc_iso
from kfix.heal.execution import execution
from kfix.heal.execution.context import Context, OpenRun, RunResult
from kfix.heal.execution.endings import error_of
from kfix.heal.execution.locks import locked
from kfix.heal.gate.gates import Given
from kfix.heal.hints import plan_again
from kfix.heal.journal.journal import ReadBack
from kfix.heal.journal.replay import FINAL, Replay, begin_again, replay, seconds_since, surely_since
from kfix.heal.journal.runs import RunDir
from kfix.heal.model.plan import Created, Gate, Plan
from kfix.heal.plan.fidelity import unfaithful
from kfix.heal.plan.planfile import audit
from kfix.heal.rollback import make_rollback, refuse_altered_rollback
from kfix.heal.safety.door import Passage
from kfix.heal.safety.outcomes import Outcome, RollBackWanted, Stop, to_error
from kfix.heal.safety.proof import Asked, Proof, prove, sample
from kfix.heal.safety.refusals import PlannedFacts, refuse_elsewhere, refuse_other_cluster, table

# The clocks of the host that planned and the host that applies may differ by this much.
_SKEW_SECONDS = 300.0


def run_plan(plan: Plan, context: Context) -> RunResult:
    """Runs a plan and returns its proven result.

    Raises a KfixError whose exit code shows whether anything was changed (docs/exit-codes.md).
    """
    passage = _admitted(plan, context)
    who = whoami()
    run: OpenRun | None = None
    try:
        with locked(plan, context, who, f"{plan.runbook.id} for {plan.finding.key}") as held:
            _refuse_repeated(plan, context)
            folder = context.store.create(plan, context.clock.now())
            with execution.opened(plan, context, folder, passage, held, who) as run:
                return execution.start(run)
    except KeyboardInterrupt as error:
        stop = Stop(Outcome.INTERRUPTED, "interrupted")
        raise (to_error(stop, changed=(), run="") if run is None else error_of(run, stop)) from error


def check_plan(plan: Plan, context: Context) -> bool:
    """Checks what `run_plan` checks before its first change, without a lock and without a journal.

    Returns whether the goal is met already, so that nothing would be changed. Raises as `run_plan` does; nothing was
    changed.
    """
    _admitted(plan, context)
    _refuse_repeated(plan, context)
    reader, hint = context.reader, plan_again(plan, context.at)
    if plan.goal.checks and all(answer.passed for _, answer in sample(plan.goal.checks, reader)):
        return True
    for call, answer in sample(plan.preconditions, reader):
        if not answer.passed:
            raise RefusedError(f"precondition {call}: {answer.words}", hint=hint)
    _, drifts = PlannedFacts(plan.facts).compare([fact.key for fact in plan.facts], reader)
    odd = tuple(unfaithful(plan, reader, frozenset()))
    if drifts or odd:
        why = (table(drifts),) if drifts else odd
        begun = f"the cluster has changed since plan {plan.short_id} was made"
        raise RefusedError(lines(begun, *why, "the plan is stale"), hint=hint)
    return False


def _admitted(plan: Plan, context: Context) -> Passage:
    """Returns the passage of a plan for this cluster, policy and time. Raises RefusedError."""
    audit(plan, f"plan {plan.short_id}")
    _refuse_foreign(plan, context)
    if plan.undoes:
        refuse_altered_rollback(plan, context.store, context.reader, context.at)
    now = context.clock.now()
    if now > plan.expires_at:
        text = f"plan {plan.short_id} expired at {utc_iso(plan.expires_at)} (now {utc_iso(now)}); nothing was changed"
        raise RefusedError(text, hint=plan_again(plan, context.at))
    if plan.created.at > now + _SKEW_SECONDS:
        made = f"plan {plan.short_id} was made at {utc_iso(plan.created.at)}"
        text = f"{made}, but it is now {utc_iso(now)}; nothing was changed"
        raise RefusedError(text, hint=f"correct the clocks, or {plan_again(plan, context.at)}")
    return context.door.admit(plan)


def resume(run: RunDir, context: Context, did: tuple[str, ...] = ()) -> RunResult:
    """Continues a run that was killed or stopped. No change is sent twice. Raises as `run_plan` does."""
    plan, _, _ = _read(run)
    _refuse_foreign(plan, context)
    passage = context.door.admit(plan)
    who = whoami()
    with locked(plan, context, who, f"resume of {run.id}") as held:
        # Read again under the lock: another resume may have run meanwhile.
        _, back, before = _read(run)
        if before.outcome in FINAL:
            text = f"{run.id} has ended ({before.outcome}): there is nothing to resume"
            raise RefusedError(text, hint=f"kfix runbook verify {run.id}{context.at}")
        _refuse_to_resume(run, plan, before, context)
        begin_again(before, plan)
        with execution.opened(plan, context, run, passage, held, who, back, before) as opened:
            return execution.resume(opened, back, before, did)


def abort(run: RunDir, context: Context, reason: str) -> Aborted:
    """Restores what a killed or stopped run left set (throttles), and ends it. Its other changes stay."""
    plan, _, _ = _read(run)
    _refuse_foreign(plan, context)
    who = whoami()
    with locked(plan, context, who, f"abort of {run.id}") as held:
        _, back, before = _read(run)
        if before.outcome in FINAL:
            raise RefusedError(f"{run.id} has ended ({before.outcome}): there is nothing to abort")
        passage = context.door.admit_endings(plan)
        with execution.opened(plan, context, run, passage, held, who, back, before) as opened:
            return execution.abort(opened, back, before, reason)


def _refuse_to_resume(run: RunDir, plan: Plan, before: Replay, context: Context) -> None:
    """Refuses a run that was rolled back, and one without lasting changes whose plan could no longer be run."""
    hint = plan_again(plan, context.at)
    undone = context.store.rolled_back_by(run.id)
    if undone is not None:
        raise RefusedError(f"{run.id} was rolled back by {undone.id}: there is nothing to resume", hint=hint)
    if (before.done or before.open) and not before.nothing_stands:
        return
    if context.clock.now() > plan.expires_at:
        text = f"{run.id} left no changes, and its plan has expired; nothing was changed"
        raise RefusedError(text, hint=hint)
    if plan.undoes:
        refuse_altered_rollback(plan, context.store, context.reader, context.at)
    _refuse_repeated(plan, context, run.id)


def _read(run: RunDir) -> tuple[Plan, ReadBack, Replay]:
    plan, back = run.plan(), run.journal()
    if back.broken:
        raise RefusedError(
            f"{run.id}: {back.broken}: what the run did after that is unknown; this command changed nothing"
        )
    if any(record.get("plan") != plan.plan_id for record in back.records):
        raise RefusedError(f"{run.id}: the journal belongs to another plan than plan.json ({plan.short_id})")
    return plan, back, replay(back.records)


def whoami() -> Mapping[str, object]:
    """Returns user, uid, host, pid and whether standard input is a terminal, for the journal."""
    return {
        "user": user_name(os.getuid()),
        "uid": os.getuid(),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "tty": sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty(),
    }


def created_now(now: float) -> Created:
    """Returns who makes a plan here; `now` is in seconds since the epoch."""
    return Created(at=now, by=str(whoami()["user"]), host=socket.gethostname(), kfix=__version__)


def _refuse_foreign(plan: Plan, context: Context) -> None:
    if plan.created.kfix != __version__:
        raise RefusedError(
            f"plan {plan.short_id} was made by kfix {plan.created.kfix}; this is {__version__}; nothing was changed",
            hint=plan_again(plan, context.at),
        )
    refuse_elsewhere(plan, context.reader.identity(), f"plan {plan.short_id}")


def _refuse_repeated(plan: Plan, context: Context, own: str = "") -> None:
    """Refuses a plan that was run before, and one within its cooldown. Must be called under the lock.

    `own` is the id of the run that is being resumed.
    """
    spent = context.store.spent_by(plan.plan_id)
    if spent is not None and spent.id != own:
        raise RefusedError(
            f"plan {plan.short_id} was already run as {spent.id}; this command changed nothing",
            hint=_after(spent, context.at),
        )
    last = None if plan.undoes else context.store.last_change(plan, context.clock)
    if last is None:
        return
    run, intent = last
    if run.id == own:
        return
    seen = seconds_since(intent, context.clock)
    ago = max(seen, surely_since(intent, context.clock))
    if ago >= plan.caps.cooldown:
        return
    when, then = f"{ago:.0f} s ago", f"try again in {plan.caps.cooldown - ago:.0f} s"
    if seen < -_SKEW_SECONDS:
        when = f"at {intent['t']}, but it is now {utc_iso(context.clock.now())} on this host,"
        then = "correct the clock that is wrong, and try again"
    raise HeldError(
        f"{plan.runbook.id} changed {plan.finding.key} {when} in run {run.id} "
        f"({intent['who']['user']}); its cooldown is {plan.caps.cooldown:g} s; nothing was changed",
        hint=f"kfix runbook history {run.id}; {then}",
    )


def _after(run: RunDir, at: str) -> str:
    """Returns the command for a run of this plan: resume it, verify it, or read its history."""
    back = run.journal()
    if back.broken:
        return f"kfix runbook history {run.id}"
    return f"kfix runbook {'verify' if replay(back.records).outcome in FINAL else 'resume'} {run.id}{at}"


def prove_again(plan: Plan, reader: ClusterReader, clock: Clock) -> tuple[Proof, Asked]:
    """Proves the goal of an earlier run again. Returns the proof and the standing checks that do not pass yet.

    Nothing is changed. Raises RefusedError if the run was on another cluster.
    """
    refuse_other_cluster(plan, reader.identity(), "the run")
    proof = prove(plan.goal, reader, clock, lambda _c, _a, _n: None)
    return proof, tuple((c, a) for c, a in sample(plan.standing, reader) if not a.passed)


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
