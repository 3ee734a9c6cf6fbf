"""Proof: all checks pass, several times in a row, before a deadline. An unknown answer is never a pass."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kfix.core.harmless import lines
from kfix.core.ports import Clock, ClusterReader
from kfix.heal.model.answer import Answer, Verdict, together
from kfix.heal.model.plan import CheckCall, Goal, PlannedStep
from kfix.heal.probes.registry import ask

Asked = tuple[tuple[CheckCall, Answer], ...]
OnSample = Callable[[CheckCall, Answer, int], None]


# Checks of something that a later step may set again, with the arguments that identify it.
_SET_ANEW = {"assignment_is": ("partition",), "config_is": ("kind", "name", "key"), "throttles_are": ("kind", "name")}


def lasting(
    steps: Iterable[PlannedStep], counts: Callable[[PlannedStep], bool] = lambda _step: True
) -> tuple[CheckCall, ...]:
    """Returns the checks that still hold after the steps: if two steps set the same thing, only the later step's
    checks.

    A step for which `counts` is False adds no check, but removes the checks of earlier steps that set the same thing.
    """
    found: dict[object, CheckCall] = {}
    for step in steps:
        for call in step.verify:
            which = _SET_ANEW.get(call.check)
            subject = call if which is None else (call.check, *(call.args[name] for name in which))
            if which is not None:
                found.pop(subject, None)
            if counts(step):
                found[subject] = call
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of a proof: `last` is the last answer of every check, `in_row` the number of passes in a row."""

    verdict: Verdict
    last: Asked
    in_row: int
    seconds: float

    @property
    def words(self) -> str:
        """Returns the checks that did not pass, one per line."""
        bad = [f"{c}: {a.words}" for c, a in self.last if not a.passed]
        return lines(*bad) or f"all checks passed, but only {self.in_row} times in a row"


def sample(checks: tuple[CheckCall, ...], reader: ClusterReader) -> Asked:
    return tuple((call, ask(call, reader)) for call in checks)


def verdict_of(answers: Asked) -> Verdict:
    return together(answer.verdict for _, answer in answers)


def prove(
    terms: Goal,
    reader: ClusterReader,
    clock: Clock,
    on_sample: OnSample,
    between: Callable[[], None] = lambda: None,
) -> Proof:
    """Samples the checks until they have passed `consecutive` times in a row, or `timeout` seconds have passed.

    At the timeout the verdict is fail if a check failed. It is inconclusive if an answer was unknown, or if the checks
    passed but not often enough in a row: metadata may be flapping.
    """
    started = clock.monotonic()
    in_row = 0
    while True:
        answers = sample(terms.checks, reader)
        verdict = verdict_of(answers)
        in_row = in_row + 1 if verdict is Verdict.PASS else 0
        for call, answer in answers:
            on_sample(call, answer, in_row)
        seconds = clock.monotonic() - started
        if in_row >= terms.consecutive:
            return Proof(Verdict.PASS, answers, in_row, seconds)
        if seconds + terms.interval > terms.timeout:
            end = Verdict.INCONCLUSIVE if verdict is Verdict.PASS else verdict
            return Proof(end, answers, in_row, seconds)
        between()
        clock.sleep(terms.interval)
