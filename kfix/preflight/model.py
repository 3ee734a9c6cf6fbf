"""The verdict on an act before it is done."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kfix.core.derive.casefile import CaseFile
from kfix.core.diagnosis.finding import CANNOT_TELL, HEALTHY
from kfix.diagnose.stopping import Assessment

#: The exit code for an act that would stop something, or that Kafka would refuse (docs/exit-codes.md).
UNSAFE: Final = 23


@dataclass(frozen=True, slots=True)
class Act:
    """Something an operator is about to do, in the words of the command line, and how it is judged."""

    words: str
    judge: Callable[[CaseFile], Assessment]


@dataclass(frozen=True, slots=True)
class Preflight:
    """The verdict: safe only if there is no obstacle, and everything that could be one was read."""

    act: str
    cluster: str
    options: str
    taken_at: float
    brokers: tuple[int, ...]
    partitions: int
    assessment: Assessment

    @property
    def exit_code(self) -> int:
        if self.assessment.obstacles:
            return UNSAFE
        return CANNOT_TELL if self.assessment.unknown else HEALTHY

    @property
    def may_become_safe(self) -> bool:
        """Whether time alone may end every obstacle."""
        return all(each.until for each in self.assessment.obstacles)
