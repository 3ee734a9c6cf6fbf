"""What a site demands of its clusters: the thresholds of the checks of prevention, named in their conditions too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Expected:
    """`rf`: replicas a partition; `min_isr`: min.insync.replicas. A condition knows them as `expected_rf` and so on."""

    rf: int = 3
    min_isr: int = 2


EXPECTED: Final = Expected()
#: The names that a condition may use beside the facts. They are the same for all rows of a cluster.
EXPECTED_TYPES: Final[Mapping[str, type]] = {"expected_rf": int, "expected_min_isr": int}


def values_of(expected: Expected) -> Mapping[str, int]:
    return {"expected_rf": expected.rf, "expected_min_isr": expected.min_isr}
