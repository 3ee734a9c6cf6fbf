"""Runs the cases of one kind and counts what becomes of each: a value, a refusal, an internal error, a hang."""

from __future__ import annotations

import contextlib
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from kfix.core.errors import KfixError, LabError, ReadOnlyViolationError

#: Of one case, in seconds of wall time; the rarest ones unpack or nest as much as kfix allows.
SECONDS_A_CASE = 20.0
#: Peak memory of a whole run, in MiB.
MOST_MEMORY = 300
#: Of the kinds for which DuckDB and pyarrow are loaded.
MOST_MEMORY_OF = {"store": 500}
_OURS = (LabError, ReadOnlyViolationError)
_SHOWN = 30

Case = Callable[[Random], object]


class HangError(BaseException):
    """A case took longer than it may. No subclass of Exception, so that nothing swallows it."""


@dataclass
class Count:
    kind: str
    cases: int = 0
    values: int = 0
    refusals: int = 0
    internal_errors: int = 0
    hangs: int = 0
    slowest: float = 0.0
    slowest_case: int = 0
    seconds: float = 0.0
    peak_mib: int = 0
    places: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"places": dict(self.places.most_common(_SHOWN))}


@contextlib.contextmanager
def _no_longer_than(seconds: float) -> Iterator[None]:
    def late(_signal: int, _frame: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(kind: str, case: Case, cases: int, first: int = 0) -> Count:
    """Case N depends on the kind and on N alone: `--first N --cases 1` repeats it."""
    count = Count(kind)
    began = time.monotonic()
    for number in range(first, first + cases):
        at = time.monotonic()
        try:
            with _no_longer_than(SECONDS_A_CASE):
                case(Random(f"{kind}:{number}"))
            count.values += 1
        except KfixError as error:
            if isinstance(error, _OURS) or not str(error):
                _note(count, number, error)
            else:
                count.refusals += 1
        except HangError as error:
            count.hangs += 1
            _note(count, number, error)
        except Exception as error:  # noqa: BLE001 - what is counted here
            count.internal_errors += 1
            _note(count, number, error)
        count.cases += 1
        took = time.monotonic() - at
        if took > count.slowest:
            count.slowest, count.slowest_case = round(took, 3), number
    count.seconds = round(time.monotonic() - began, 1)
    count.peak_mib = _peak_mib()
    return count


def _peak_mib() -> int:
    """Of this program. `ru_maxrss` would tell that of whoever started it, where that was larger: it outlives exec."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def _note(count: Count, number: int, error: BaseException) -> None:
    ours = [
        f for f in traceback.extract_tb(error.__traceback__) if "/kfix" in f.filename and "/tests/" not in f.filename
    ]
    where = f"{ours[-1].filename.rpartition('/kfix')[2]}:{ours[-1].lineno}" if ours else "outside kfix"
    place = f"{type(error).__name__} at {where}"
    count.places[place] += 1
    count.examples.setdefault(place, f"case {number}: {str(error)[:200]}")
