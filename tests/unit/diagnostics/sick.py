"""One sick cluster: what is found in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kfix.model.cluster.snapshot import Snapshot
from kfix.model.diagnosis.finding import Severity


@dataclass(frozen=True)
class Sick:
    make: Callable[[], Snapshot]
    obj: str
    severity: Severity
