"""Proof: all checks good, several times in a row, before a deadline. Not knowing is never good."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kfix.harmless import lines
from kfix.model.plan.answer import Answer, Verdict, together
from kfix.model.plan.plan import CheckCall, PlannedStep
from kfix.ports import Clock, ClusterReader
from kfix.probes.registry import ask

Asked = tuple[tuple[CheckCall, Answer], ...]
OnSample = Callable[[CheckCall, Answer, int], None]


# Checks of something that a later step may set anew, with the arguments that say which thing that is.
_SET_ANEW = {"assignment_is": ("partition",), "config_is": ("kind", "name", "key"), "throttles_are": ("kind", "name")}


def lasting(
    steps: Iterable[PlannedStep], counts: Callable[[PlannedStep], bool] = lambda _step: True
) -> tuple[CheckCall, ...]:
    """What steps brought about, in their order: where two set the same thing, only the later one's is still there.

    A step that does not count is asked for nothing, but what it set anew is not asked of an earlier one either.
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
    """`last` is the last sample of every check; `in_row` how many good samples in a row there were at the end."""

    verdict: Verdict
    last: Asked
    in_row: int
    seconds: float

    @property
    def words(self) -> str:
        """What stood in the way: the checks that did not pass."""
        bad = [f"{c}: {a.verdict}: {a.observed}; wanted: {a.wanted}" for c, a in self.last if not a.passed]
        return lines(*bad) or f"good {self.in_row} times in a row, which was not often enough"


def sample(checks: tuple[CheckCall, ...], reader: ClusterReader) -> Asked:
    return tuple((call, ask(call, reader)) for call in checks)


def verdict_of(asked: Asked) -> Verdict:
    return together(answer.verdict for _, answer in asked)


@dataclass(frozen=True, slots=True)
class ProofTerms:
    checks: tuple[CheckCall, ...]
    timeout: float
    interval: float
    consecutive: int


def prove(
    wanted: ProofTerms,
    reader: ClusterReader,
    clock: Clock,
    on_sample: OnSample,
    between: Callable[[], None] = lambda: None,
) -> Proof:
    """A deadline that passes while things looked bad is a fail, while they were unknown it is inconclusive.

    Good, but not often enough in a row, is inconclusive too: metadata may be flapping.
    """
    started = clock.monotonic()
    in_row = 0
    while True:
        asked = sample(wanted.checks, reader)
        verdict = verdict_of(asked)
        in_row = in_row + 1 if verdict is Verdict.PASS else 0
        for call, answer in asked:
            on_sample(call, answer, in_row)
        seconds = clock.monotonic() - started
        if in_row >= wanted.consecutive:
            return Proof(Verdict.PASS, asked, in_row, seconds)
        if seconds + wanted.interval > wanted.timeout:
            end = Verdict.INCONCLUSIVE if verdict is Verdict.PASS else verdict
            return Proof(end, asked, in_row, seconds)
        between()
        clock.sleep(wanted.interval)
