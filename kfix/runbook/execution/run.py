"""One run of one plan: what makes it unfit is refused, then locks and journal are taken, then it takes its course.

Resume, abort and verify begin here too: each reads the journal of the run that it goes on with.
"""

from __future__ import annotations

import os
import pwd
import socket
import sys
from collections.abc import Mapping
from datetime import datetime

from kfix import __version__
from kfix.errors import HeldError, RefusedError
from kfix.model.plan.plan import Created, Plan
from kfix.model.run import Aborted
from kfix.ports import Clock, ClusterReader
from kfix.runbook.execution.context import Context, RunResult
from kfix.runbook.execution.execution import Execution
from kfix.runbook.execution.locks import locked
from kfix.runbook.hints import plan_again
from kfix.runbook.journal.journal import ReadBack, utc
from kfix.runbook.journal.replay import FINAL, Replay, begin_again, replay
from kfix.runbook.journal.runs import RunDir
from kfix.runbook.plan.planfile import audit
from kfix.runbook.rollback.planning import refuse_odd_rollback
from kfix.runbook.safety.outcomes import Outcome, Stop, to_error
from kfix.runbook.safety.proof import Asked, Proof, ProofTerms, prove, sample
from kfix.runbook.safety.target import refuse_elsewhere, refuse_other_cluster

# Clocks of the host that planned and of the host that applies may differ by so much.
_SKEW_SECONDS = 300.0


def run_plan(plan: Plan, scene: Context) -> RunResult:
    """Returns proved, or raises with the exit code that says whether anything was changed."""
    audit(plan, f"plan {plan.short_id}")
    _refuse_foreign(plan, scene)
    if plan.undoes:
        refuse_odd_rollback(plan, scene.store, scene.reader)
    now = scene.clock.now()
    if now > plan.expires_at:
        text = f"plan {plan.short_id} expired at {utc(plan.expires_at)}, it is {utc(now)}; nothing was changed"
        raise RefusedError(text, hint=plan_again(plan))
    if plan.created.at > now + _SKEW_SECONDS:
        text = f"plan {plan.short_id} was made at {utc(plan.created.at)}, it is {utc(now)}; nothing was changed"
        raise RefusedError(text, hint=f"set the clocks right, or {plan_again(plan)}")
    passage = scene.door.admit(plan)
    who = whoami()
    course: Execution | None = None
    try:
        with locked(plan, scene, who, f"{plan.runbook.id} for {plan.finding.key}") as held:
            _refuse_repeated(plan, scene)
            course = Execution(plan, scene, scene.store.create(plan, scene.clock.now()), who, held, passage)
            return course.start()
    except KeyboardInterrupt as error:
        stop = Stop(Outcome.INTERRUPTED, "interrupted")
        raise (to_error(stop, changed=(), run="") if course is None else course.error(stop)) from error


def resume(run: RunDir, scene: Context, did: tuple[str, ...] = ()) -> RunResult:
    """Goes on where a run was killed or stopped. Nothing that was changed is issued again."""
    plan, _, _ = _read(run)
    _refuse_foreign(plan, scene)
    passage = scene.door.admit(plan)
    who = whoami()
    with locked(plan, scene, who, f"resume of {run.id}") as held:
        # Read again under the lock: another resume may have gone on meanwhile.
        _, back, before = _read(run)
        if before.outcome in FINAL:
            text = f"{run.id} has ended ({before.outcome}): there is nothing to go on with"
            raise RefusedError(text, hint=f"kfix runbook verify {run.id}")
        _refuse_to_resume(run, plan, before, scene)
        begin_again(before, plan)
        return Execution(plan, scene, run, who, held, passage).go_on(back, before, did)


def abort(run: RunDir, scene: Context, reason: str) -> Aborted:
    """Puts back what a killed or stopped run left on (throttles), and ends it. What was changed stays changed."""
    plan, _, _ = _read(run)
    _refuse_foreign(plan, scene)
    who = whoami()
    with locked(plan, scene, who, f"abort of {run.id}") as held:
        _, back, before = _read(run)
        if before.outcome in FINAL:
            raise RefusedError(f"{run.id} has ended ({before.outcome}): there is nothing to abort")
        return Execution(plan, scene, run, who, held, scene.door.admit_endings(plan)).abort(back, before, reason)


def _refuse_to_resume(run: RunDir, plan: Plan, before: Replay, scene: Context) -> None:
    """A run that changed nothing is no way round what a plan is held to; one that was taken back has ended."""
    hint = plan_again(plan)
    undone = scene.store.taken_back_by(run.id)
    if undone is not None:
        raise RefusedError(f"{run.id} was taken back by {undone.id}: there is nothing to go on with", hint=hint)
    if (before.done or before.open) and not before.nothing_stands:
        return
    if scene.clock.now() > plan.expires_at:
        text = f"nothing that {run.id} changed stands, and its plan has expired: nothing was changed"
        raise RefusedError(text, hint=hint)
    if plan.undoes:
        refuse_odd_rollback(plan, scene.store, scene.reader)
    _refuse_repeated(plan, scene, run.id)


def _read(run: RunDir) -> tuple[Plan, ReadBack, Replay]:
    plan, back = run.plan(), run.journal()
    if back.broken:
        raise RefusedError(f"{run.id}: {back.broken}: nobody knows what happened after that; nothing was changed now")
    if any(record.get("plan") != plan.plan_id for record in back.records):
        raise RefusedError(f"{run.id}: the journal is of another plan than {plan.short_id} beside it")
    return plan, back, replay(back.records)


def whoami() -> Mapping[str, object]:
    try:
        # The kernel's word: an environment variable would let anybody be anybody.
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = f"uid {os.getuid()}"
    return {
        "user": user,
        "uid": os.getuid(),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "tty": sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty(),
    }


def created_now(now: float) -> Created:
    """Returns who makes a plan here; `now` is in seconds since the epoch."""
    return Created(at=now, by=str(whoami()["user"]), host=socket.gethostname(), kfix=__version__)


def _refuse_foreign(plan: Plan, scene: Context) -> None:
    if plan.created.kfix != __version__:
        raise RefusedError(
            f"plan {plan.short_id} was made by kfix {plan.created.kfix}, this is {__version__}; nothing was changed",
            hint=plan_again(plan),
        )
    refuse_elsewhere(plan, scene.reader.identity(), f"plan {plan.short_id}")


def _refuse_repeated(plan: Plan, scene: Context, own: str = "") -> None:
    """Asked under the lock, so that two at once cannot both pass. `own` is the run that goes on."""
    spent = scene.store.spent_by(plan.plan_id)
    if spent is not None and spent.id != own:
        raise RefusedError(
            f"plan {plan.short_id} was already run as {spent.id}; nothing was changed now",
            hint=_after(spent),
        )
    last = None if plan.undoes else scene.store.last_change(plan)
    if last is None:
        return
    run, intent = last
    if run.id == own:
        return
    ago = scene.clock.now() - datetime.fromisoformat(intent["t"]).timestamp()
    if ago < plan.caps.cooldown:
        raise HeldError(
            f"{plan.runbook.id} acted on {plan.finding.key} {ago:.0f} s ago as {run.id} "
            f"({intent['who']['user']}); it waits {plan.caps.cooldown:g} s between two runs; nothing was changed",
            hint=f"kfix runbook history {run.id}; then again in {plan.caps.cooldown - ago:.0f} s",
        )


def _after(run: RunDir) -> str:
    """What can be done about a run of this plan: go on with it, or look at how it ended."""
    back = run.journal()
    if back.broken:
        return f"kfix runbook history {run.id}"
    return f"kfix runbook {'verify' if replay(back.records).outcome in FINAL else 'resume'} {run.id}"


def prove_again(plan: Plan, scene_reader: ClusterReader, clock: Clock) -> tuple[Proof, Asked]:
    """`verify RUN`: the goal of a run's plan, any time later, and what is still to come of it. Nothing is changed."""
    refuse_other_cluster(plan, scene_reader.identity(), "the run")
    goal = plan.goal
    wanted = ProofTerms(goal.checks, goal.timeout, goal.interval, goal.consecutive)
    proof = prove(wanted, scene_reader, clock, lambda _c, _a, _n: None)
    return proof, tuple((c, a) for c, a in sample(plan.standing, scene_reader) if not a.passed)
