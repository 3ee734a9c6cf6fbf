"""The answer of a probe: pass, fail or inconclusive, always with the observed state. Unknown is never healthy."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Answer:
    """Evidence, not a boolean: the prompt shows it and the journal keeps it."""

    verdict: Verdict
    observed: str
    wanted: str

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASS

    @property
    def words(self) -> str:
        return f"{self.verdict}: {self.observed}; expected: {self.wanted}"


def judge(good: bool | None, observed: str, wanted: str) -> Answer:
    """Returns the answer; `good` is None where a value could not be read."""
    if good is None:
        return Answer(Verdict.INCONCLUSIVE, observed, wanted)
    return Answer(Verdict.PASS if good else Verdict.FAIL, observed, wanted)


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Returns PASS where all pass. One failure is a failure even where another answer is inconclusive."""
    seen = set(verdicts)
    if Verdict.FAIL in seen:
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE if Verdict.INCONCLUSIVE in seen or not seen else Verdict.PASS
