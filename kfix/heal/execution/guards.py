"""What must hold right before a change: guards, the facts that the plan rests on, the lock, and time limits."""

from collections.abc import Iterable, Mapping

from kfix.core.errors import UnreachableError
from kfix.core.harmless import lines
from kfix.core.wording import utc_iso
from kfix.heal.execution.context import OpenRun
from kfix.heal.model.facts import Fact
from kfix.heal.model.plan import CheckCall, Gate, Phase, PlannedStep
from kfix.heal.plan.planfile import to_plain
from kfix.heal.probes.registry import ask
from kfix.heal.safety.outcomes import Outcome, StalePlan, Stop
from kfix.heal.safety.refusals import table


def preconditions(run: OpenRun) -> None:
    """Raises `Stop` if a precondition of the plan does not pass. Preconditions hold until the first change."""
    if missing := first_missing(run, run.plan.preconditions, "precondition"):
        raise Stop(Outcome.REFUSED, f"precondition {missing}")


def check(run: OpenRun, step: PlannedStep) -> None:
    """Raises `Stop` if a guard of the step does not pass."""
    if missing := first_missing(run, step.require, "require", step.id):
        raise Stop(Outcome.REFUSED, f"step {step.id} needs {missing}")


def first_missing(run: OpenRun, checks: Iterable[CheckCall], part: str, step: str | None = None) -> str:
    """Returns the first check that does not pass, and why, or "": of fifty partitions the others need not be read."""
    for call in checks:
        answer = ask(call, run.reader)
        run.samples.record(call, answer, part=part, step=step)
        if not answer.passed:
            return f"{call}: {answer.words}"
    return ""


def recheck(run: OpenRun, step: PlannedStep) -> Mapping[str, Fact]:
    """Returns the step's facts as they are now. Raises `Stop` if one has changed or cannot be read."""
    try:
        now, drifts = run.baseline.compare(step.pre, run.reader)
    except UnreachableError as error:
        raise Stop(Outcome.REFUSED, f"step {step.id}: its facts could not be read again: {error}") from error
    for drift in drifts:
        run.journal.write(
            "facts.recheck", step=step.id, key=drift.key, was=to_plain(drift.was), is_=to_plain(drift.is_)
        )
    if drifts:
        text = lines(
            f"step {step.id}: the cluster has changed since the plan was made", table(drifts), "the plan is stale"
        )
        raise StalePlan(text)
    return now


def right_before(run: OpenRun, step: PlannedStep) -> None:
    """Makes the checks that take no time. Nothing comes between them and the intent. Raises `Stop`."""
    lock_is_held(run)
    if step.phase is Phase.ALWAYS:
        return
    within_duration(run)
    _not_expired(run, step)


def lock_is_held(run: OpenRun) -> None:
    if run.lock is not None and not run.lock.held():
        run.journal.write("lock.lost", scope=run.lock.scope)
        raise Stop(
            Outcome.LOCK_LOST,
            f"the lock was lost ({run.lock.scope}): another operator may be making changes now",
        )


def within_duration(run: OpenRun) -> None:
    cap = run.plan.caps.max_duration
    spent = run.clock.monotonic() - run.began
    if cap is not None and spent > cap:
        run.journal.write("limit.hit", limit="max_duration", seconds=round(spent, 1), cap=cap)
        raise Stop(Outcome.LIMIT, f"the run has taken {spent:.0f} s; the limit is {cap:g} s (limits.max_duration)")


def _not_expired(run: OpenRun, step: PlannedStep) -> None:
    """Stops a run whose plan expired before its first change, or before one of its typed steps."""
    now, late = run.run_time.now(), run.plan.expires_at
    if now > late and (step.gate >= Gate.TYPED or not run.progress.changed):
        text = f"step {step.id}: plan {run.plan.short_id} expired at {utc_iso(late)} (now {utc_iso(now)})"
        raise StalePlan(text)
