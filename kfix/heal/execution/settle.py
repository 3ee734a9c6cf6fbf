"""Waits until the steps of a batch have taken effect: all together, each verified on its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kfix.core.harmless import lines
from kfix.heal.execution import watch
from kfix.heal.execution.context import OpenRun
from kfix.heal.execution.waiting import Wait
from kfix.heal.model.answer import Verdict
from kfix.heal.model.plan import PlannedStep
from kfix.heal.safety.proof import Asked, sample, verdict_of

# A wait of minutes need not poll five times a second.
_SLOWEST = 2.0
_SLOWER_AFTER = 10.0


@dataclass(frozen=True, slots=True)
class Unproved:
    step: PlannedStep
    verdict: Verdict
    text: str


def wait(run: OpenRun, steps: Sequence[PlannedStep]) -> tuple[Unproved, ...]:
    """Returns the steps that could not be verified. A step that can no longer succeed does not delay the others."""
    began, interval = run.clock.monotonic(), run.plan.goal.interval
    waiting = list(steps)
    failed: list[Unproved] = []
    while True:
        seconds = run.clock.monotonic() - began
        answers = {step.id: _sample(run, step) for step in waiting}
        for step in [s for s in waiting if verdict_of(answers[s.id]) is Verdict.PASS]:
            run.journal.write("step.verified", step=step.id, seconds=round(seconds, 3))
            waiting.remove(step)
        pause = interval if seconds < _SLOWER_AFTER else max(interval, _SLOWEST)
        for step in list(waiting):
            why = _in_vain(run, step)
            if why or seconds + pause > step.verify_timeout:
                verdict = Verdict.FAIL if why else verdict_of(answers[step.id])
                failed.append(_unproved(run, step, verdict, why or _words(answers[step.id])))
                waiting.remove(step)
        if not waiting:
            return tuple(failed)
        watch.poll(run, waiting, _wait(waiting[0], answers, seconds))
        run.clock.sleep(pause)


def _wait(step: PlannedStep, answers: Mapping[str, Asked], seconds: float) -> Wait | None:
    """Returns the first check of the step that does not pass yet."""
    for call, answer in answers[step.id]:
        if not answer.passed:
            return Wait.of(call, answer, seconds=seconds, limit=step.verify_timeout, step=step.id)
    return None


def _in_vain(run: OpenRun, step: PlannedStep) -> str:
    """Returns why waiting is pointless, or "". Invariants are checked first: a pause may resolve the reason."""
    if not watch.hopeless(step, run.reader):
        return ""
    watch.invariants(run)
    return watch.hopeless(step, run.reader)


def _sample(run: OpenRun, step: PlannedStep) -> Asked:
    asked = sample(step.verify, run.reader)
    for call, answer in asked:
        run.samples.record(call, answer, step=step.id, part="verify")
    return asked


def _unproved(run: OpenRun, step: PlannedStep, verdict: Verdict, text: str) -> Unproved:
    run.journal.write("step.not_verified", step=step.id, verdict=verdict.value, text=text)
    return Unproved(step, verdict, text)


def _words(asked: Asked) -> str:
    return lines(*(f"{call}: {answer.words}" for call, answer in asked if not answer.passed))
