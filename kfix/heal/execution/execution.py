"""Executes a run: refusals, steps, restoring steps, proof, steps after the goal. Every end is recorded."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace

from kfix import __version__
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.harmless import lines
from kfix.core.run import Aborted
from kfix.heal.execution import apply, asking, endings, guards, watch
from kfix.heal.execution.context import Context, Locked, OpenRun, RunResult
from kfix.heal.execution.restore import put_back
from kfix.heal.execution.resume import take_over
from kfix.heal.execution.waiting import Wait
from kfix.heal.journal.journal import Journal, JournalError, ReadBack
from kfix.heal.journal.replay import Replay
from kfix.heal.journal.runs import RunDir
from kfix.heal.model.answer import Answer, Verdict
from kfix.heal.model.plan import CheckCall, Phase, Plan, PlannedStep
from kfix.heal.plan.fidelity import unfaithful
from kfix.heal.plan.steps import walk
from kfix.heal.safety.door import Passage
from kfix.heal.safety.outcomes import Outcome, StalePlan, Stop
from kfix.heal.safety.proof import Proof, lasting, prove, sample
from kfix.heal.safety.refusals import table


@contextmanager
def opened(
    plan: Plan,
    context: Context,
    folder: RunDir,
    passage: Passage,
    locked: Locked,
    who: Mapping[str, object],
    back: ReadBack | None = None,
    before: Replay | None = None,
) -> Iterator[OpenRun]:
    """Opens the journal of a run, new or with the records `back`, and yields the run; every end of it is recorded."""
    try:
        file = folder.open_journal() if back is None else folder.reopen_journal(back)
    except OSError as error:
        text = f"{folder.journal_path}: cannot open the journal: {error.strerror}; nothing was changed"
        raise RefusedError(text) from error
    common = {"run": folder.id, "plan": plan.plan_id, "who": who}
    try:
        journal = Journal(file, common, context.clock, context.listener, back)
        run = OpenRun.of(plan, context, folder, passage, locked, journal, before or Replay())
        with _recorded(run):
            yield run
    finally:
        with suppress(OSError):
            file.close()


@contextmanager
def _recorded(run: OpenRun) -> Iterator[None]:
    try:
        yield
    except Stop as stop:
        error = endings.error_of(run, stop)
        endings.write_end(run, stop.outcome, error.exit_code, str(stop))
        raise error from stop
    except KeyboardInterrupt as interrupt:
        error = endings.error_of(run, Stop(Outcome.INTERRUPTED, "interrupted"))
        endings.write_end(run, Outcome.INTERRUPTED, error.exit_code, "interrupted")
        raise error from interrupt
    except JournalError as broken:
        if run.progress.issued and not run.progress.left_on:
            run.progress.left_on += [s.what for s in run.plan.restoring]
        raise endings.error_of(run, Stop(Outcome.NO_JOURNAL, f"{run.folder.path}: {broken}")) from broken
    except UnreachableError as error:
        # A source stopped answering at a point without handling of its own: the run ends in order.
        ended = endings.error_of(run, Stop(Outcome.UNREACHABLE, str(error)))
        endings.write_end(run, Outcome.UNREACHABLE, ended.exit_code, str(error))
        raise ended from error


def start(run: OpenRun) -> RunResult:
    _began(run)
    if _already_healthy(run):
        return _prove(run, Outcome.ALREADY_HEALTHY)
    guards.preconditions(run)
    _unchanged(run)
    _faithful(run)
    return _steps(run)


def resume(run: OpenRun, back: ReadBack, before: Replay, did: tuple[str, ...]) -> RunResult:
    """Continues a run. Changes already made are verified; an intent without a result is probed, never reissued."""
    _resumed(run, back, before, did)
    take_over(run, before, did, adopt=True)
    if not run.progress.changed:
        guards.preconditions(run)
        _unchanged(run)
    _faithful(run)
    return _steps(run)


def abort(run: OpenRun, back: ReadBack, before: Replay, reason: str) -> Aborted:
    """Runs only the restoring steps, then ends the run. Its other changes stay."""
    _resumed(run, back, before, ())
    take_over(run, before, (), adopt=False)
    put_back(run)
    endings.find_moves(run, over=True)
    run.journal.write("note", text=f"aborted: {reason}")
    if run.progress.left_on:
        raise Stop(Outcome.STEP_FAILED, "not everything was restored")
    endings.write_end(run, Outcome.ABORTED, 0, reason)
    return endings.aborted(run)


def _began(run: OpenRun) -> None:
    plan = run.plan
    run.journal.write(
        "run.start",
        cluster=plan.cluster.name,
        runbook=plan.runbook.id,
        finding=plan.finding.key,
        partitions=[str(tp) for tp in plan.finding.partitions],
        title=plan.title,
        undoes=plan.undoes,
        kfix=__version__,
        reached_by=run.context.at.strip(),
    )
    _lock_taken(run)
    if run.lock is None:
        text = f"other hosts are not locked out ({run.locked.why}), so every change is approved separately"
        run.journal.write("note", text=text)


def _resumed(run: OpenRun, back: ReadBack, before: Replay, did: tuple[str, ...]) -> None:
    run.journal.write(
        "run.resumed",
        torn=back.torn,
        did=list(did),
        done=before.done,
        open=list(before.open),
        reached_by=run.context.at.strip(),
    )
    _lock_taken(run)


def _lock_taken(run: OpenRun) -> None:
    run.journal.write("lock.taken", scope=run.locked.scope, exclusive=run.lock is not None)


def _steps(run: OpenRun) -> RunResult:
    asking.refuse_unapproved(run)
    try:
        for batch in walk(run.plan, Phase.MAIN):
            apply.visit(run, batch)
    except KeyboardInterrupt as end:
        endings.interrupted(run, end)
        raise
    except (Stop, UnreachableError):
        put_back(run)
        endings.find_moves(run)
        raise
    put_back(run)
    if run.progress.refused and not run.progress.changed:
        raise Stop(Outcome.REFUSED, lines(*run.progress.refused))
    if run.progress.left_on:
        raise Stop(Outcome.STEP_FAILED, "not restored: " + "; ".join(run.progress.left_on))
    return _prove(run, Outcome.PROVED)


def _already_healthy(run: OpenRun) -> bool:
    checks = run.plan.goal.checks
    return bool(checks) and not guards.first_missing(run, checks, "goal")


def _unchanged(run: OpenRun) -> None:
    """Raises `Stop` if any fact of the plan has changed. This happens before the first question."""
    keys = [fact.key for fact in run.plan.facts]
    try:
        _, drifts = run.baseline.compare(keys, run.reader)
    except UnreachableError as error:
        raise Stop(Outcome.REFUSED, f"the plan's facts could not be read again: {error}") from error
    for drift in drifts:
        run.journal.write("facts.recheck", key=drift.key, was=drift.was, is_=drift.is_)
    if drifts:
        begun = f"the cluster has changed since plan {run.plan.short_id} was made"
        text = lines(begun, table(drifts), "the plan is stale")
        raise StalePlan(text)


def _faithful(run: OpenRun) -> None:
    odd = tuple(unfaithful(run.plan, run.reader, frozenset(run.progress.done)))
    if odd:
        text = lines(f"plan {run.plan.short_id} does not match this cluster:", *odd)
        raise StalePlan(text)


def _prove(run: OpenRun, good: Outcome) -> RunResult:
    """Proves the goal and the effect of every step that was issued, then runs the steps after the goal."""
    found = _proof(run)
    seconds = run.clock.monotonic() - run.progress.approved_at
    if found.verdict is not Verdict.PASS:
        outcome = Outcome.NOT_PROVED if found.verdict is Verdict.FAIL else Outcome.INCONCLUSIVE
        at = run.context.at
        hint = f"kfix runbook verify {run.folder.id}{at} repeats the proof; kfix diagnose{at} checks the whole cluster"
        raise Stop(outcome, lines(f"not proved ({found.verdict}):", found.words), hint)
    if good is Outcome.PROVED:
        for batch in walk(run.plan, Phase.AFTER_GOAL):
            apply.visit(run, batch)
    standing = tuple((c, a) for c, a in sample(run.plan.standing, run.reader) if not a.passed)
    for call, answer in standing:
        run.samples.record(call, answer, part="standing")
    # A run that only set throttles and removed them again has still changed something.
    changed = run.progress.standing or run.progress.descriptions
    run.journal.write(
        "run.end",
        outcome=good.value,
        exit=0,
        changed=list(changed),
        put_back=list(run.progress.put_back),
        seconds_to_proof=round(seconds, 3),
        left=[],
    )
    return RunResult(run.folder.id, good, found, changed, seconds, standing, tuple(run.progress.refused))


def _proof(run: OpenRun) -> Proof:
    goal = run.plan.goal
    # What is restored at every end, such as a throttle, is no longer there.
    back = run.plan.restoring

    def counts(s: PlannedStep) -> bool:
        return s.phase is Phase.MAIN and not any(s.undone_by(step) for step in back)

    # The goal of a rollback plan already consists of the effects of all its steps.
    own = lasting(run.progress.issued, counts) if run.progress.changed and not run.plan.undoes else ()
    wanted = replace(goal, checks=tuple(dict.fromkeys((*goal.checks, *own))))

    clock = run.clock
    began, missing = clock.monotonic(), dict[CheckCall, Answer]()

    def on_sample(call: CheckCall, answer: Answer, in_row: int) -> None:
        run.samples.record(call, answer, part="proof", in_row=in_row)
        missing.pop(call, None)
        if not answer.passed:
            missing[call] = answer

    def between() -> None:
        seconds = clock.monotonic() - began
        waits = [Wait.of(c, a, seconds=seconds, limit=goal.timeout) for c, a in missing.items()]
        watch.poll(run, (), waits[0] if waits else None)

    return prove(wanted, run.reader, clock, on_sample, between=between)
