"""Executes a run: refusals, steps, restoring steps, proof, steps after the goal. Every end is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from kfix import __version__
from kfix.core.clock import RunTime
from kfix.core.errors import KfixError, RefusedError, UnreachableError
from kfix.core.harmless import lines
from kfix.core.run import Aborted
from kfix.heal.execution.components import Components
from kfix.heal.execution.context import Context, OpenRun, RunProgress, RunResult
from kfix.heal.execution.endings import Endings
from kfix.heal.execution.locks import Locked
from kfix.heal.execution.resume import TakenOver
from kfix.heal.execution.waiting import Wait
from kfix.heal.gate.gates import flags
from kfix.heal.journal.journal import Journal, JournalError, ReadBack, Samples
from kfix.heal.journal.replay import Replay
from kfix.heal.journal.runs import RunDir
from kfix.heal.model.answer import Answer, Verdict
from kfix.heal.model.plan import CheckCall, Phase, Plan, PlannedStep
from kfix.heal.plan.fidelity import unfaithful
from kfix.heal.plan.steps import walk
from kfix.heal.probes.registry import ask
from kfix.heal.safety.door import Passage
from kfix.heal.safety.outcomes import Outcome, StalePlan, Stop
from kfix.heal.safety.proof import Proof, ProofTerms, lasting, prove, sample
from kfix.heal.safety.refusals import PlannedFacts, table


class Execution:
    def __init__(
        self, plan: Plan, context: Context, run: RunDir, who: Mapping[str, object], locked: Locked, passage: Passage
    ) -> None:
        self.plan = plan
        self.context = context
        self.run = run
        self.who = who
        self.locked = locked
        self.passage = passage
        self.progress = RunProgress(approved_at=context.clock.monotonic())
        apart = context.step_by_step or locked.cluster is None
        approving = "" if context.human.interactive else flags(plan, apart=apart)
        self.endings = Endings(plan, context.reader, run.id, self.progress, context.at, approving)

    def start(self) -> RunResult:
        with self._journal(None) as journal, self._recorded(journal):
            components = self._components(journal, PlannedFacts(self.plan.facts))
            self._began(journal)
            if self._already_healthy(components):
                return self._prove(components, Outcome.ALREADY_HEALTHY)
            components.guards.preconditions()
            self._unchanged(components)
            self._faithful()
            return self._steps(components)

    def resume(self, back: ReadBack, before: Replay, did: tuple[str, ...]) -> RunResult:
        """Continues a run. Changes already made are verified; an intent without a result is probed, never reissued."""
        with self._journal(back) as journal, self._recorded(journal):
            components = self._taken_over(journal, back, before, did)
            if not self.progress.changed:
                components.guards.preconditions()
                self._unchanged(components)
            self._faithful()
            return self._steps(components)

    def abort(self, back: ReadBack, before: Replay, reason: str) -> Aborted:
        """Runs only the restoring steps, then ends the run. Its other changes stay."""
        with self._journal(back) as journal, self._recorded(journal):
            components = self._taken_over(journal, back, before, (), adopt=False)
            self.endings.always(components)
            self.endings.find_moves(over=True)
            journal.write("note", text=f"aborted: {reason}")
            if self.endings.left_on:
                raise Stop(Outcome.STEP_FAILED, "not everything was restored")
            self.endings.write(journal, Outcome.ABORTED, 0, reason)
            return self.endings.aborted()

    @property
    def _abort(self) -> str:
        return f"kfix runbook abort {self.run.id} --reason TEXT{self.context.at}"

    # -- beginnings

    def _components(self, journal: Journal, baseline: PlannedFacts, spent: float = 0.0) -> Components:
        """`spent` is the time in seconds that earlier processes spent on this run."""
        clock = self.context.clock
        return Components(
            OpenRun(
                self.plan,
                self.context,
                self.run,
                self.passage,
                self.locked.cluster,
                journal,
                baseline,
                self.progress,
                Samples(journal),
                clock.monotonic() - spent,
                RunTime.begins(clock),
            )
        )

    def _began(self, journal: Journal) -> None:
        plan = self.plan
        journal.write(
            "run.start",
            cluster=plan.cluster.name,
            runbook=plan.runbook.id,
            finding=plan.finding.key,
            partitions=[str(tp) for tp in plan.finding.partitions],
            title=plan.title,
            undoes=plan.undoes,
            kfix=__version__,
            reached_by=self.context.at.strip(),
        )
        journal.write("lock.taken", scope=self.locked.scope, exclusive=self.locked.cluster is not None)
        if self.locked.cluster is None:
            text = f"other hosts are not locked out ({self.locked.why}), so every change is approved separately"
            journal.write("note", text=text)

    def _taken_over(
        self, journal: Journal, back: ReadBack, before: Replay, did: tuple[str, ...], *, adopt: bool = True
    ) -> Components:
        baseline = PlannedFacts(self.plan.facts, before.facts)
        components = self._components(journal, baseline, before.spent)
        journal.write(
            "run.resumed",
            torn=back.torn,
            did=list(did),
            done=before.done,
            open=list(before.open),
            reached_by=self.context.at.strip(),
        )
        journal.write("lock.taken", scope=self.locked.scope, exclusive=self.locked.cluster is not None)
        TakenOver(components, self.endings.resume, self._abort).take(before, did, adopt=adopt)
        return components

    @contextmanager
    def _journal(self, back: ReadBack | None) -> Iterator[Journal]:
        try:
            file = self.run.open_journal() if back is None else self.run.reopen_journal(back)
        except OSError as error:
            text = f"{self.run.journal_path}: cannot open the journal: {error.strerror}; nothing was changed"
            raise RefusedError(text) from error
        common = {"run": self.run.id, "plan": self.plan.plan_id, "who": self.who}
        try:
            yield Journal(file, common, self.context.clock, self.context.listener, back)
        finally:
            with suppress(OSError):
                file.close()

    # -- endings

    @contextmanager
    def _recorded(self, journal: Journal) -> Iterator[None]:
        try:
            yield
        except Stop as stop:
            error = self.error(stop)
            self.endings.write(journal, stop.outcome, error.exit_code, str(stop))
            raise error from stop
        except KeyboardInterrupt as interrupt:
            error = self.error(Stop(Outcome.INTERRUPTED, "interrupted"))
            self.endings.write(journal, Outcome.INTERRUPTED, error.exit_code, "interrupted")
            raise error from interrupt
        except JournalError as broken:
            if self.progress.issued and not self.endings.left_on:
                self.endings.left_on += [s.what for s in self.plan.restoring]
            raise self.error(Stop(Outcome.NO_JOURNAL, f"{self.run.path}: {broken}")) from broken
        except UnreachableError as error:
            # A source stopped answering at a point without handling of its own: the run ends in order.
            ended = self.error(Stop(Outcome.UNREACHABLE, str(error)))
            self.endings.write(journal, Outcome.UNREACHABLE, ended.exit_code, str(error))
            raise ended from error

    def error(self, stop: Stop) -> KfixError:
        return self.endings.error(stop)

    # -- steps and proof

    def _steps(self, components: Components) -> RunResult:
        components.apply.asking.refuse_unapproved()
        try:
            for batch in walk(self.plan, Phase.MAIN):
                components.apply.visit(batch)
        except KeyboardInterrupt as end:
            self.endings.interrupted(components, end)
            raise
        except (Stop, UnreachableError):
            self.endings.always(components)
            self.endings.find_moves()
            raise
        self.endings.always(components)
        if self.progress.refused and not self.progress.changed:
            raise Stop(Outcome.REFUSED, lines(*self.progress.refused))
        if self.endings.left_on:
            raise Stop(Outcome.STEP_FAILED, "not restored: " + "; ".join(self.endings.left_on))
        return self._prove(components, Outcome.PROVED)

    def _already_healthy(self, components: Components) -> bool:
        for call in self.plan.goal.checks:
            answer = ask(call, self.context.reader)
            components.run.samples.record(call, answer, part="goal")
            if not answer.passed:
                return False
        return bool(self.plan.goal.checks)

    def _unchanged(self, components: Components) -> None:
        """Raises `Stop` if any fact of the plan has changed. This happens before the first question."""
        keys = [fact.key for fact in self.plan.facts]
        try:
            _, drifts = components.run.baseline.compare(keys, self.context.reader)
        except UnreachableError as error:
            raise Stop(Outcome.REFUSED, f"the plan's facts could not be read again: {error}") from error
        for drift in drifts:
            components.run.journal.write("facts.recheck", key=drift.key, was=drift.was, is_=drift.is_)
        if drifts:
            begun = f"the cluster has changed since plan {self.plan.short_id} was made"
            text = lines(begun, table(drifts), "the plan is stale")
            raise StalePlan(text)

    def _faithful(self) -> None:
        odd = tuple(unfaithful(self.plan, self.context.reader, frozenset(self.progress.done)))
        if odd:
            text = lines(f"plan {self.plan.short_id} does not match this cluster:", *odd)
            raise StalePlan(text)

    def _prove(self, components: Components, good: Outcome) -> RunResult:
        """Proves the goal and the effect of every step that was issued, then runs the steps after the goal."""
        found = self._proof(components)
        seconds = self.context.clock.monotonic() - self.progress.approved_at
        if found.verdict is not Verdict.PASS:
            outcome = Outcome.NOT_PROVED if found.verdict is Verdict.FAIL else Outcome.INCONCLUSIVE
            at = self.context.at
            hint = (
                f"kfix runbook verify {self.run.id}{at} repeats the proof; kfix diagnose{at} checks the whole cluster"
            )
            raise Stop(outcome, lines(f"not proved ({found.verdict}):", found.words), hint)
        if good is Outcome.PROVED:
            for batch in walk(self.plan, Phase.AFTER_GOAL):
                components.apply.visit(batch)
        standing = tuple((c, a) for c, a in sample(self.plan.standing, self.context.reader) if not a.passed)
        for call, answer in standing:
            components.run.samples.record(call, answer, part="standing")
        # A run that only set throttles and removed them again has still changed something.
        changed = self.progress.standing or self.progress.descriptions
        components.run.journal.write(
            "run.end",
            outcome=good.value,
            exit=0,
            changed=list(changed),
            put_back=list(self.progress.put_back),
            seconds_to_proof=round(seconds, 3),
            left=[],
        )
        return RunResult(self.run.id, good, found, changed, seconds, standing, tuple(self.progress.refused))

    def _proof(self, components: Components) -> Proof:
        goal = self.plan.goal
        # What is restored at every end, such as a throttle, is no longer there.
        back = self.plan.restoring

        def counts(s: PlannedStep) -> bool:
            return s.phase is Phase.MAIN and not any(s.undone_by(step) for step in back)

        # The goal of a rollback plan already consists of the effects of all its steps.
        own = lasting(self.progress.issued, counts) if self.progress.changed and not self.plan.undoes else ()
        wanted = ProofTerms(tuple(dict.fromkeys((*goal.checks, *own))), goal.timeout, goal.interval, goal.consecutive)

        clock = self.context.clock
        began, missing = clock.monotonic(), dict[CheckCall, Answer]()

        def on_sample(call: CheckCall, answer: Answer, in_row: int) -> None:
            components.run.samples.record(call, answer, part="proof", in_row=in_row)
            missing.pop(call, None)
            if not answer.passed:
                missing[call] = answer

        def between() -> None:
            seconds = clock.monotonic() - began
            waits = [Wait.of(c, a, seconds=seconds, limit=goal.timeout) for c, a in missing.items()]
            components.watch.poll((), waits[0] if waits else None)

        return prove(wanted, self.context.reader, clock, on_sample, between=between)
