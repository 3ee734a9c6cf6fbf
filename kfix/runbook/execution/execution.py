"""The course of a run: refusals, the steps, what always runs, the proof, what follows it. Every ending is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from kfix import __version__
from kfix.errors import KfixError, RefusedError, UnreachableError
from kfix.harmless import lines
from kfix.model.plan.answer import Answer, Verdict
from kfix.model.plan.plan import CheckCall, Phase, Plan, PlannedStep
from kfix.model.run import Aborted
from kfix.probes.registry import ask
from kfix.runbook.execution.components import Components
from kfix.runbook.execution.context import Context, RunProgress, RunResult
from kfix.runbook.execution.endings import Endings
from kfix.runbook.execution.locks import Locked
from kfix.runbook.execution.resume import TakenOver
from kfix.runbook.execution.waiting import Wait
from kfix.runbook.journal.journal import Journal, JournalError, ReadBack
from kfix.runbook.journal.replay import Replay
from kfix.runbook.journal.runs import RunDir
from kfix.runbook.plan.fidelity import unfaithful
from kfix.runbook.plan.walk import walk
from kfix.runbook.safety.door import Passage
from kfix.runbook.safety.drift import PlannedFacts, table
from kfix.runbook.safety.outcomes import ANOTHER_PLAN, Outcome, Stop
from kfix.runbook.safety.proof import Proof, ProofTerms, lasting, prove, sample


class Execution:
    def __init__(
        self, plan: Plan, scene: Context, run: RunDir, who: Mapping[str, object], locked: Locked, passage: Passage
    ) -> None:
        self.plan = plan
        self.scene = scene
        self.run = run
        self.who = who
        self.locked = locked
        self.passage = passage
        self.progress = RunProgress(approved_at=scene.clock.monotonic())
        self.endings = Endings(plan, scene.reader, run.id, self.progress)

    def start(self) -> RunResult:
        with self._journal(None) as journal, self._recorded(journal):
            crew = self._crew(journal, PlannedFacts(self.plan.facts))
            self._began(journal)
            if self._well_already(crew):
                return self._prove(crew, Outcome.ALREADY_WELL)
            crew.guards.preconditions(self.plan)
            self._unchanged(crew)
            self._faithful()
            return self._steps(crew)

    def go_on(self, back: ReadBack, before: Replay, did: tuple[str, ...]) -> RunResult:
        """Resume: what was changed stays changed and is waited for; an open intent is probed, never issued again."""
        with self._journal(back) as journal, self._recorded(journal):
            crew = self._taken_over(journal, back, before, did)
            if not self.progress.changed:
                crew.guards.preconditions(self.plan)
                self._unchanged(crew)
            self._faithful()
            return self._steps(crew)

    def abort(self, back: ReadBack, before: Replay, reason: str) -> Aborted:
        """Only what always runs; then the run is over. What it changed stays as it is."""
        with self._journal(back) as journal, self._recorded(journal):
            crew = self._taken_over(journal, back, before, (), adopt=False)
            self.endings.always(crew)
            self.endings.look_at_moves(over=True)
            journal.write("note", text=f"aborted: {reason}")
            if self.endings.left_on:
                raise Stop(Outcome.STEP_FAILED, "not everything was put back")
            self.endings.write(journal, Outcome.ABORTED, 0)
            return self.endings.aborted()

    @property
    def _abort(self) -> str:
        return f"kfix runbook abort {self.run.id} --reason TEXT"

    # -- beginnings

    def _crew(self, journal: Journal, baseline: PlannedFacts, spent: float = 0.0) -> Components:
        return Components(
            self.plan, self.scene, self.run, self.locked, journal, baseline, self.progress, self.passage, spent
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
        )
        journal.write("lock.taken", scope=self.locked.scope, exclusive=self.locked.cluster is not None)
        if self.locked.cluster is None:
            text = f"other hosts are not locked out ({self.locked.why}): every change asks by itself"
            journal.write("note", text=text)

    def _taken_over(
        self, journal: Journal, back: ReadBack, before: Replay, did: tuple[str, ...], *, adopt: bool = True
    ) -> Components:
        baseline = PlannedFacts(self.plan.facts, before.facts)
        crew = self._crew(journal, baseline, before.spent)
        journal.write("run.resumed", torn=back.torn, did=list(did), done=before.done, open=list(before.open))
        journal.write("lock.taken", scope=self.locked.scope, exclusive=self.locked.cluster is not None)
        taken = TakenOver(self.plan, self.run.id, self.scene.reader, self.progress, self._abort)
        taken.take(crew, before, did, adopt=adopt)
        return crew

    @contextmanager
    def _journal(self, back: ReadBack | None) -> Iterator[Journal]:
        try:
            file = self.run.open_journal() if back is None else self.run.reopen_journal(back)
        except OSError as error:
            text = f"{self.run.journal_path}: the journal cannot be opened: {error.strerror}; nothing was changed"
            raise RefusedError(text) from error
        common = {"run": self.run.id, "plan": self.plan.plan_id, "who": self.who}
        try:
            yield Journal(file, common, self.scene.clock, self.scene.listener, back)
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
            self.endings.write(journal, stop.outcome, error.exit_code)
            raise error from stop
        except KeyboardInterrupt as interrupt:
            error = self.error(Stop(Outcome.INTERRUPTED, "interrupted"))
            self.endings.write(journal, Outcome.INTERRUPTED, error.exit_code)
            raise error from interrupt
        except JournalError as broken:
            if self.progress.issued and not self.endings.left_on:
                self.endings.left_on += [s.what for s in self.plan.steps if s.phase is Phase.ALWAYS]
            raise self.error(Stop(Outcome.NO_JOURNAL, f"{self.run.path}: {broken}")) from broken
        except UnreachableError as error:
            # A source that went silent where nobody had reckoned with it: the run ends in order, and says so.
            told = self.error(Stop(Outcome.UNREACHABLE, str(error)))
            self.endings.write(journal, Outcome.UNREACHABLE, told.exit_code)
            raise told from error

    def error(self, stop: Stop) -> KfixError:
        return self.endings.error(stop)

    # -- the way

    def _steps(self, crew: Components) -> RunResult:
        crew.apply.asking.foresee()
        try:
            walk(self.plan, crew.apply, Phase.MAIN)
        except KeyboardInterrupt as end:
            self.endings.interrupted(crew, end)
            raise
        except (Stop, UnreachableError):
            self.endings.always(crew)
            self.endings.look_at_moves()
            raise
        self.endings.always(crew)
        if self.progress.refused and not self.progress.changed:
            raise Stop(Outcome.REFUSED, lines(*self.progress.refused))
        if self.endings.left_on:
            raise Stop(Outcome.STEP_FAILED, "not put back: " + "; ".join(self.endings.left_on))
        return self._prove(crew, Outcome.PROVED)

    def _well_already(self, crew: Components) -> bool:
        for call in self.plan.goal.checks:
            answer = ask(call, self.scene.reader)
            crew.samples.told(call, answer, part="goal")
            if not answer.passed:
                return False
        return bool(self.plan.goal.checks)

    def _unchanged(self, crew: Components) -> None:
        """The whole read set, before anybody is asked anything."""
        keys = [fact.key for fact in self.plan.facts]
        try:
            _, drifts = crew.guards.baseline.compare(keys, self.scene.reader)
        except UnreachableError as error:
            raise Stop(Outcome.REFUSED, f"the facts of the plan cannot be read again: {error}") from error
        for drift in drifts:
            crew.journal.write("facts.recheck", key=drift.key, was=drift.was, is_=drift.is_)
        if drifts:
            begun = f"the world changed since plan {self.plan.short_id} was made"
            text = lines(begun, table(drifts), "the plan is stale")
            raise Stop(Outcome.REFUSED, text, ANOTHER_PLAN)

    def _faithful(self) -> None:
        odd = tuple(unfaithful(self.plan, self.scene.reader, frozenset(self.progress.done)))
        if odd:
            text = lines(f"plan {self.plan.short_id} does not say what this cluster says:", *odd)
            raise Stop(Outcome.REFUSED, text, ANOTHER_PLAN)

    def _prove(self, crew: Components, good: Outcome) -> RunResult:
        """The goal, and what each step that was issued was to bring about, in one proof; then what follows it."""
        found = self._proof(crew)
        seconds = self.scene.clock.monotonic() - self.progress.approved_at
        if found.verdict is not Verdict.PASS:
            outcome = Outcome.NOT_PROVED if found.verdict is Verdict.FAIL else Outcome.INCONCLUSIVE
            hint = f"kfix runbook verify {self.run.id} asks again; kfix diagnose looks at the whole cluster"
            raise Stop(outcome, lines(f"not proved ({found.verdict}):", found.words), hint)
        if good is Outcome.PROVED:
            walk(self.plan, crew.apply, Phase.AFTER_GOAL)
        standing = tuple((c, a) for c, a in sample(self.plan.standing, self.scene.reader) if not a.passed)
        for call, answer in standing:
            crew.samples.told(call, answer, part="standing")
        # A run that did nothing but set throttles and put them back has changed something all the same.
        changed = self.progress.standing or tuple(self.progress.changed)
        crew.journal.write(
            "run.end",
            outcome=good.value,
            exit=0,
            changed=list(changed),
            put_back=list(self.progress.put_back),
            seconds_to_proof=round(seconds, 3),
            left=[],
        )
        return RunResult(self.run.id, good, found, changed, seconds, standing, tuple(self.progress.refused))

    def _proof(self, crew: Components) -> Proof:
        goal = self.plan.goal
        # What is put back in every ending, such as a throttle, is not there any more.
        back = {(s.action, s.args) for s in self.plan.steps if s.phase is Phase.ALWAYS}

        def counts(s: PlannedStep) -> bool:
            return s.phase is Phase.MAIN and (s.inverse is None or (s.inverse.action, s.inverse.args) not in back)

        # The goal of a plan that takes back is made of all that its steps bring about.
        own = lasting(self.progress.issued, counts) if self.progress.changed and not self.plan.undoes else ()
        wanted = ProofTerms(tuple(dict.fromkeys((*goal.checks, *own))), goal.timeout, goal.interval, goal.consecutive)

        clock = self.scene.clock
        began, missing = clock.monotonic(), dict[CheckCall, Answer]()

        def told(call: CheckCall, answer: Answer, in_row: int) -> None:
            crew.samples.told(call, answer, part="proof", in_row=in_row)
            missing.pop(call, None)
            if not answer.passed:
                missing[call] = answer

        def between() -> None:
            seconds = clock.monotonic() - began
            waits = [Wait.of(c, a, seconds=seconds, limit=goal.timeout) for c, a in missing.items()]
            crew.watch.poll((), waits[0] if waits else None)

        return prove(wanted, self.scene.reader, clock, told, between=between)
