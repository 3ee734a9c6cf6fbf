"""Carries out one step after the other: goal, guards, gate, fresh facts, intent, call, result, proof of the step.

Knows no planner and no template: what runs is what the plan says, literally. Nothing is issued twice; where an answer
was lost the cluster is looked at, not asked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kfix.actions.base import Progress
from kfix.actions.registry import ALL as ACTIONS
from kfix.errors import UnreachableError
from kfix.model.facts import Fact
from kfix.model.plan import CheckCall, Plan, PlannedStep
from kfix.model.reading import ChangeResult
from kfix.model.verdict import Answer, Verdict
from kfix.ports import Clock, ClusterChanger, ClusterReader
from kfix.probes.registry import ask
from kfix.runbook.codec import to_plain
from kfix.runbook.gates import Gatekeeper
from kfix.runbook.interrupts import held_back
from kfix.runbook.journal import Journal
from kfix.runbook.prompt import screen
from kfix.runbook.proof import Wanted, prove, sample
from kfix.runbook.stale import Baseline, table
from kfix.runbook.stops import Outcome, Stop
from kfix.runbook.store import RunDir

# Facts older than this are read again before a change, however short the way from the look to the call.
FRESH_SECONDS = 1.0

# Kafka's codes after which nothing was changed: not sent or fenced off (1), unknown or invalid (3, 17, 35, 39, 42), not
# allowed (29, 31), not the controller (41), nothing to do or nobody to elect (60, 80, 83, 84, 85). Any other answer,
# such as 7 REQUEST_TIMED_OUT, may come after the change.
_SURELY_NOT_DONE = frozenset({1, 3, 17, 29, 31, 35, 39, 41, 42, 60, 80, 83, 84, 85})


@dataclass(slots=True)
class Progressed:
    """What a run has done so far. `approved_at` is when the last approval before the first change came."""

    changed: list[str] = field(default_factory=list)
    issued: list[PlannedStep] = field(default_factory=list)
    goal_met: bool = False
    approved_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Apply:
    plan: Plan
    reader: ClusterReader
    changer: ClusterChanger
    clock: Clock
    journal: Journal
    gatekeeper: Gatekeeper
    run: RunDir
    baseline: Baseline
    progress: Progressed

    def visit(self, number: int, step: PlannedStep) -> None:
        if self._not_needed(step):
            return
        self._guards(step)
        if not self.gatekeeper.open_without_asking(step):
            self._gate(number, step)
            # A person takes their time, and the cluster may have healed meanwhile.
            if self._not_needed(step):
                return
        result = self._change(step)
        if result.accepted or result.unknown:
            self._verify(step)

    # -- before the change

    def _not_needed(self, step: PlannedStep) -> bool:
        """The goal is met, or what this step is for is there already: the rung before it took, and the rest follows."""
        if self.progress.goal_met or self._passes(self.plan.goal.checks, step, "goal"):
            self.progress.goal_met = True
            self.journal.write("step.skipped", step=step.id, why="goal_met")
            return True
        if self._passes(step.unless, step, "unless"):
            self.journal.write("step.skipped", step=step.id, why="not_needed")
            return True
        return False

    def _passes(self, checks: tuple[CheckCall, ...], step: PlannedStep, part: str) -> bool:
        """The first that does not pass answers: of fifty partitions the others need not be read."""
        for call in checks:
            answer = ask(call, self.reader)
            self._sample(call, answer, step.id, part)
            if not answer.passed:
                return False
        return bool(checks)

    def _guards(self, step: PlannedStep) -> None:
        for call, answer in sample(step.require, self.reader):
            self._sample(call, answer, step.id, "require")
            if not answer.passed:
                text = f"step {step.id} needs {call}: {answer.verdict}: {answer.observed}; wanted: {answer.wanted}"
                raise Stop(Outcome.REFUSED, text)

    def _gate(self, number: int, step: PlannedStep) -> None:
        now = self._recheck(step)
        shown = screen(self.plan, number, step, now, tuple(self.progress.changed))
        digest = self.run.keep_screen(f"gate-{number}", shown.text)
        self.journal.write("gate.asked", step=step.id, level=step.gate.word, shown_sha256=digest)
        asked_at = self.clock.monotonic()
        reply = self.gatekeeper.ask(step, shown)
        latency = round(self.clock.monotonic() - asked_at, 3)
        self.journal.write(
            "gate.answered",
            step=step.id,
            answer=reply.answer,
            passed=reply.passed,
            phrase_ok=reply.phrase_ok,
            latency_s=latency,
        )
        if not reply.passed:
            text = f"step {step.id} was not approved ({reply.answer})"
            raise Stop(Outcome.DECLINED, text, self._how_to_approve(step))
        if not self.progress.changed:
            self.progress.approved_at = self.clock.monotonic()

    def _how_to_approve(self, step: PlannedStep) -> str:
        if self.gatekeeper.human.interactive:
            return ""
        needed = self.gatekeeper.needed(step)
        if self.progress.issued:
            return f"make a new plan and pass {needed.replace(self.plan.short_id, '<its id>')} as well"
        return f"kfix runbook apply --plan {self.run.plan_path} {needed}"

    def _recheck(self, step: PlannedStep) -> Mapping[str, Fact]:
        try:
            now, drifts = self.baseline.compare(step.pre, self.reader)
        except UnreachableError as error:
            raise Stop(Outcome.REFUSED, f"step {step.id}: the facts cannot be read again: {error}") from error
        for drift in drifts:
            self.journal.write(
                "facts.recheck", step=step.id, key=drift.key, was=to_plain(drift.was), is_=to_plain(drift.is_)
            )
        if drifts:
            text = f"step {step.id}: the world changed since the plan was made\n{table(drifts)}\n"
            raise Stop(Outcome.REFUSED, text + "the plan is stale", "make a new plan: kfix runbook plan")
        return now

    # -- the change

    def _change(self, step: PlannedStep) -> ChangeResult:
        """Ctrl-C waits for the record of what the call gave; the facts are from the same second as the call."""
        with held_back():
            looked_at = self.clock.monotonic()
            before = self._recheck(step)
            self._guards(step)
            self.journal.write(
                "step.intent", step=step.id, action=step.action, args=to_plain(step.args), pre_image=_values(before)
            )
            if self.clock.monotonic() - looked_at > FRESH_SECONDS:
                self._look_again(step)
            result = self._call(step)
            self.journal.write(
                "step.result",
                step=step.id,
                ok=result.accepted,
                code=result.code,
                error="" if result.accepted else f"{result.name} {result.message}".strip(),
                changed=None if result.unknown else result.accepted,
            )
            if result.unknown:
                self._find_out(step, before)
        if result.accepted or result.unknown:
            self._move_on(step)
        return result

    def _look_again(self, step: PlannedStep) -> None:
        """A broker or the disk was slow; the facts come last. The intent stands in the journal, so its end must too."""
        try:
            self._guards(step)
            self._recheck(step)
        except Stop:
            self.journal.write("step.result", step=step.id, ok=False, code=None, error="not issued", changed=False)
            raise

    def _call(self, step: PlannedStep) -> ChangeResult:
        self.progress.issued.append(step)
        try:
            result = ACTIONS[step.action].apply(step.args, self.changer)
        except UnreachableError as error:
            result = ChangeResult(-1, "NO_ANSWER", str(error))
        except BaseException:
            # A second Ctrl-C, or a mistake in kfix: nobody knows whether the call had left.
            self.progress.changed.append(f"{step.id}: {step.what} (cut off: it may or may not have happened)")
            raise
        if not result.accepted and result.code not in _SURELY_NOT_DONE:
            result = ChangeResult(-1, result.name, result.message)
        if result.accepted or result.unknown:
            said = "" if result.accepted else " (no answer: it may or may not have happened)"
            self.progress.changed.append(f"{step.id}: {step.what}{said}")
        return result

    def _find_out(self, step: PlannedStep, before: Mapping[str, Fact]) -> None:
        """No answer came. The cluster is looked at; the call is not made again, whatever the look says."""
        found = ACTIONS[step.action].probe(step.args, before, self.reader)
        self.journal.write("step.probe", step=step.id, progress=found.value)
        if found is Progress.DONE:
            self.journal.write("note", step=step.id, text="the answer was lost, the change was made: adopted")

    def _move_on(self, step: PlannedStep) -> None:
        """The run's own change moves facts that later steps rest on; nobody else's may."""
        try:
            now = self.baseline.move_on(ACTIONS[step.action].writes(step.args), self.reader)
        except UnreachableError as error:
            # Later steps then find the old facts changed and stop: unknown is not unchanged.
            self.journal.write("note", step=step.id, text=f"the facts after the change cannot be read: {error}")
            return
        self.journal.write("facts.moved_on", step=step.id, facts=_values(now))

    # -- after the change

    def _verify(self, step: PlannedStep) -> None:
        """A rung that did not take is told and left; the ladder goes on with the next one."""
        goal = self.plan.goal
        wanted = Wanted(step.verify, step.verify_timeout, goal.interval, consecutive=1)
        found = prove(wanted, self.reader, self.clock, lambda c, a, _n: self._sample(c, a, step.id, "verify"))
        if found.verdict is Verdict.PASS:
            self.journal.write("step.verified", step=step.id, seconds=round(found.seconds, 3))
        else:
            self.journal.write("step.unproved", step=step.id, verdict=found.verdict.value, text=found.words)

    def _sample(self, call: CheckCall, answer: Answer, step: str, part: str) -> None:
        self.journal.write(
            "verify.sample",
            step=step,
            part=part,
            check=str(call),
            observed=answer.observed,
            wanted=answer.wanted,
            verdict=answer.verdict.value,
        )


def _values(facts: Mapping[str, Fact]) -> dict[str, object]:
    return {key: to_plain(fact.value) for key, fact in facts.items()}
