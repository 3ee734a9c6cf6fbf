"""The gate of a step within a run: the screen is kept by its hash, the answer is journaled, and a no ends the run."""

from __future__ import annotations

from dataclasses import dataclass

from kfix.core.harmless import lines
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution.context import OpenRun
from kfix.heal.execution.guards import Guards
from kfix.heal.gate.gates import Gatekeeper, Screen, sure_phrases
from kfix.heal.gate.prompt import screen
from kfix.heal.model.plan import Gate, OnFailure, PlannedStep
from kfix.heal.safety.outcomes import Outcome, StalePlan, Stop

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Asking:
    run: OpenRun
    gatekeeper: Gatekeeper
    guards: Guards

    def open_without_asking(self, step: PlannedStep) -> bool:
        return self.gatekeeper.open_without_asking(step)

    def refuse_unapproved(self) -> None:
        """Raises `Stop` if there is no terminal and a gate that the run will surely reach was not approved."""
        if self.gatekeeper.human.interactive:
            return
        keeper, done = self.gatekeeper, self.run.progress.done
        sure = [s for s in keeper.sure(done) if ACTIONS[s.action].changes]
        open_ = [s for s in sure if not keeper.covered(s)]
        if open_:
            names = ", ".join(s.id for s in open_[:5]) + (" ..." if len(open_) > _SHOWN else "")
            text = f"there is no terminal to ask at, and these steps were not approved: {names}"
            raise Stop(Outcome.DECLINED, text, self._command(*sure))

    def phrases_first(self) -> bool:
        """Asks for the typed phrases before the first change, so that declining one leaves the cluster unchanged.

        Returns whether a question was asked.
        """
        asked = False
        for number, step in () if self.run.progress.changed else sure_phrases(self.run.plan):
            if step.id not in self.run.progress.done and not self.gatekeeper.open_without_asking(step):
                self.gate(number, step)
                asked = True
        return asked

    def gate(self, number: int, step: PlannedStep) -> bool:
        """Returns False if the operator skipped this step. Raises `Stop` if it was not approved."""
        level = self.gatekeeper.level(step)
        if level >= Gate.TYPED and self.run.run_time.now() > self.run.plan.expires_at:
            text = f"step {step.id} needs a typed phrase, which is accepted only while the plan is under 5 minutes old"
            raise StalePlan(text)

        def fresh() -> Screen:
            now = self.guards.recheck(step)
            return screen(self.run.plan, number, (step, level), now, self.run.progress.descriptions)

        shown = fresh()
        digest = self.run.folder.keep_screen(f"gate-{number}", shown.text)
        self.run.journal.write("gate.asked", step=step.id, level=level.word, shown_sha256=digest)
        asked_at = self.run.clock.monotonic()
        reply = self.gatekeeper.ask(step, shown, fresh)
        self.run.journal.write(
            "gate.answered",
            step=step.id,
            answer=reply.answer,
            passed=reply.passed,
            phrase_ok=reply.phrase_ok,
            latency_s=round(self.run.clock.monotonic() - asked_at, 3),
        )
        if reply.skip:
            self.run.journal.write("step.skipped", step=step.id, why="left_out")
            return False
        if not reply.passed:
            raise Stop(Outcome.DECLINED, self._not_approved(step, reply.answer), self._how_to_approve(step))
        if not self.run.progress.changed:
            self.run.progress.approved_at = self.run.clock.monotonic()
        return True

    def confirm_continue(self, step: PlannedStep, text: str) -> bool:
        """Asks whether to continue after a step that failed. Without a terminal, or without a yes, the answer is no."""
        assert step.on_failure is OnFailure.ASK
        yes = self.gatekeeper.confirm_continue(lines(text, "", "Continue with the remaining steps anyway?"))
        self.run.journal.write("gate.answered", step=step.id, answer="continue" if yes else "stop", passed=yes)
        return yes

    def _not_approved(self, step: PlannedStep, answer: str) -> str:
        if ACTIONS[step.action].changes:
            return f"step {step.id} was not approved ({answer})"
        return f"step {step.id} needs to be done by hand ({answer}): {step.what}"

    def _how_to_approve(self, step: PlannedStep) -> str:
        if self.gatekeeper.human.interactive:
            return ""
        sure = [s for s in self.gatekeeper.sure(self.run.progress.done) if ACTIONS[s.action].changes and s != step]
        if not ACTIONS[step.action].changes:
            resume = f"kfix runbook resume {self.run.folder.id}{self.run.context.at}"
            did = f"{resume} --did {step.id} {self.gatekeeper.needed(*sure)}".strip()
            return f"when it is done:  {did}   (or approve it beforehand with {self.gatekeeper.needed(step)})"
        return self._command(step, *sure)

    def _command(self, *steps: PlannedStep) -> str:
        """Returns the command with every flag that the run needs, so that it has to be repeated only once."""
        needed = self.gatekeeper.needed(*steps)
        later = [s for s in self.gatekeeper.later(self.run.progress.done) if s not in steps]
        more = self.gatekeeper.needed(*steps, *later)
        rest = f"   (to approve the later steps as well: {more})" if more != needed else ""
        # A plan whose first change was begun is spent; its run is resumed instead.
        begun = (
            f"resume {self.run.folder.id}" if self.run.progress.begun else f"apply --plan {self.run.folder.plan_path}"
        )
        begun += self.run.context.at
        signing = (
            f"kfix runbook countersign {self.run.folder.plan_path} --output-file FILE --reason TEXT   "
            "(by a second person), then  "
        )
        return f"{signing if '--countersign' in needed else ''}kfix runbook {begun} {needed}{rest}"
