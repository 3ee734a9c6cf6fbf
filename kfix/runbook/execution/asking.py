"""A step's gate within a run: what is shown is kept by hash, what is answered is journaled; else the run ends."""

from __future__ import annotations

from dataclasses import dataclass

from kfix.actions.registry import ALL as ACTIONS
from kfix.harmless import lines
from kfix.model.plan.plan import Gate, OnFailure, Plan, PlannedStep
from kfix.ports import Clock
from kfix.runbook.execution.context import RunProgress
from kfix.runbook.execution.guards import Guards
from kfix.runbook.gate.gates import Gatekeeper, Screen, sure_phrases
from kfix.runbook.gate.prompt import screen
from kfix.runbook.journal.journal import Journal
from kfix.runbook.journal.runs import RunDir
from kfix.runbook.safety.outcomes import ANOTHER_PLAN, Outcome, Stop

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Asking:
    plan: Plan
    clock: Clock
    journal: Journal
    gatekeeper: Gatekeeper
    run: RunDir
    guards: Guards
    progress: RunProgress

    def open_without_asking(self, step: PlannedStep) -> bool:
        return self.gatekeeper.open_without_asking(step)

    def foresee(self) -> None:
        """Where nobody can be asked, what will surely be asked must be answered before anything is changed."""
        if self.gatekeeper.human.interactive:
            return
        keeper, done = self.gatekeeper, self.progress.done
        sure = [s for s in keeper.sure(done) if ACTIONS[s.action].changes]
        open_ = [s for s in sure if not keeper.covered(s)]
        if open_:
            names = ", ".join(s.id for s in open_[:5]) + (" ..." if len(open_) > _SHOWN else "")
            text = f"nobody can be asked, and these steps were not approved: {names}"
            raise Stop(Outcome.DECLINED, text, self._command(*sure))

    def phrases_first(self) -> bool:
        """Before the first change: who declines a phrase has changed nothing. Returns whether anybody was asked."""
        asked = False
        for number, step in () if self.progress.changed else sure_phrases(self.plan):
            if step.id not in self.progress.done and not self.gatekeeper.open_without_asking(step):
                self.gate(number, step)
                asked = True
        return asked

    def gate(self, number: int, step: PlannedStep) -> bool:
        """False: a person left this step out. `Stop` where it was not approved."""
        level = self.gatekeeper.level(step)
        if level >= Gate.TYPED and self.clock.now() > self.plan.expires_at:
            text = f"step {step.id} is typed on a plan of the last 5 minutes only; this one is older"
            raise Stop(Outcome.REFUSED, text, ANOTHER_PLAN)

        def fresh() -> Screen:
            now = self.guards.recheck(step)
            return screen(self.plan, number, (step, level), now, tuple(self.progress.changed))

        shown = fresh()
        digest = self.run.keep_screen(f"gate-{number}", shown.text)
        self.journal.write("gate.asked", step=step.id, level=level.word, shown_sha256=digest)
        asked_at = self.clock.monotonic()
        reply = self.gatekeeper.ask(step, shown, fresh)
        self.journal.write(
            "gate.answered",
            step=step.id,
            answer=reply.answer,
            passed=reply.passed,
            phrase_ok=reply.phrase_ok,
            latency_s=round(self.clock.monotonic() - asked_at, 3),
        )
        if reply.skip:
            self.journal.write("step.skipped", step=step.id, why="left_out")
            return False
        if not reply.passed:
            raise Stop(Outcome.DECLINED, self._not_approved(step, reply.answer), self._how_to_approve(step))
        if not self.progress.changed:
            self.progress.approved_at = self.clock.monotonic()
        return True

    def go_on(self, step: PlannedStep, text: str) -> bool:
        """After a step that did not take: a person decides. Nobody to ask, no answer and anything but yes is no."""
        assert step.on_failure is OnFailure.ASK
        going = self.gatekeeper.go_on(lines(text, "", "Go on with the rest all the same?"))
        self.journal.write("gate.answered", step=step.id, answer="go on" if going else "stop", passed=going)
        return going

    def _not_approved(self, step: PlannedStep, answer: str) -> str:
        if ACTIONS[step.action].changes:
            return f"step {step.id} was not approved ({answer})"
        return f"step {step.id} waits for a person ({answer}): {step.what}"

    def _how_to_approve(self, step: PlannedStep) -> str:
        if self.gatekeeper.human.interactive:
            return ""
        sure = [s for s in self.gatekeeper.sure(self.progress.done) if ACTIONS[s.action].changes and s != step]
        if not ACTIONS[step.action].changes:
            did = f"kfix runbook resume {self.run.id} --did {step.id} {self.gatekeeper.needed(*sure)}".strip()
            return f"do it, then:  {did}   (or beforehand {self.gatekeeper.needed(step)})"
        return self._command(step, *sure)

    def _command(self, *steps: PlannedStep) -> str:
        """Everything that is needed at once: who is told one flag at a time runs the command many times."""
        needed = self.gatekeeper.needed(*steps)
        later = [s for s in self.gatekeeper.later(self.progress.done) if s not in steps]
        more = self.gatekeeper.needed(*steps, *later)
        rest = f"   (or, for the steps that may follow as well: {more})" if more != needed else ""
        # A plan of which a change was begun is spent; its run goes on instead.
        begun = f"resume {self.run.id}" if self.progress.begun else f"apply --plan {self.run.plan_path}"
        signing = f"kfix runbook countersign {self.run.plan_path} -o FILE --reason TEXT   by a second person, then  "
        return f"{signing if '--countersign' in needed else ''}kfix runbook {begun} {needed}{rest}"
