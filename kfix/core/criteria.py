"""How a cluster is judged: one record from the options of a command, or the inventory, to the checks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kfix.core.timing import DiagnosisTimes

# A site's expectations of its clusters: thresholds of the checks for latent risks, also used in their conditions.


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected replication factor and min.insync.replicas; in conditions `expected_rf` and `expected_min_isr`."""

    rf: int = 3
    min_isr: int = 2


EXPECTED: Final = Expected()
#: The names that a condition may use in addition to the facts. They are the same for all rows of a cluster.
EXPECTED_TYPES: Final[Mapping[str, type]] = {"expected_rf": int, "expected_min_isr": int}


def values_of(expected: Expected) -> Mapping[str, int]:
    return {"expected_rf": expected.rf, "expected_min_isr": expected.min_isr}


@dataclass(frozen=True, slots=True)
class Criteria(DiagnosisTimes):
    """With `prevention` latent risks are judged too, measured against what the site expects.

    `zones` are {rack: the name that people know it by}.
    """

    prevention: bool = False
    expected: Expected = EXPECTED
    zones: Mapping[str, str] = field(default_factory=dict)

    @property
    def times(self) -> DiagnosisTimes:
        return DiagnosisTimes(self.debounce, self.restart_grace, self.transaction_grace)


CRITERIA: Final = Criteria()
