"""One sick cluster: what is found in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.snapshot import Snapshot


@dataclass(frozen=True)
class Sick:
    make: Callable[[], Snapshot]
    obj: str
    severity: Severity
