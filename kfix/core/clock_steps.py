"""The times of a run's journal if the clock of its host was set.

`t` is wall time, `mono` a clock that is never set, and `boot` names the boot of the host that `mono` counts from.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kfix.core.wording import ago

Record = Mapping[str, Any]

#: The clock was set if it differs by more than this (seconds) from the time that has passed.
CLOCK_STEP = 2.0


def wall(record: Record) -> float:
    """Returns the time of a record in seconds since the epoch, as the clock of its host showed it."""
    return datetime.fromisoformat(str(record["t"])).timestamp()


@dataclass(frozen=True, slots=True)
class ClockStep:
    """The wall clock differs by `seconds` from the time that has passed since the record before `seq`."""

    seq: int
    seconds: float

    @property
    def words(self) -> str:
        if self.seconds < 0:
            return f"the clock of this host was set back by {ago(-self.seconds)}"
        # A clock that is never set stops while a host is suspended.
        return f"the clock of this host was set ahead by {ago(self.seconds)}, or the host was suspended"


def clock_steps(records: Iterable[Record]) -> Iterator[ClockStep]:
    """Yields the clock changes between two records. After a boot it notices only a clock that went back.

    It skips a record without a time, which kfix did not write.
    """
    before: Record | None = None
    for seq, record in enumerate(records):
        if not _has_time(record):
            continue
        step = 0.0 if before is None else _step(before, record)
        if abs(step) > CLOCK_STEP:
            yield ClockStep(seq, step)
        before = record


def _step(before: Record, record: Record) -> float:
    step = wall(record) - wall(before)
    if record.get("boot") and record.get("boot") == before.get("boot"):
        begun, ended = before.get("mono"), record.get("mono")
        if isinstance(begun, int | float) and isinstance(ended, int | float):
            return step - (ended - begun)
    return min(0.0, step)


def _has_time(record: Record) -> bool:
    try:
        wall(record)
    except (KeyError, ValueError, OverflowError):
        return False
    return True


def clock_notes(records: Iterable[Record]) -> tuple[str, ...]:
    return tuple(f"{step.words} during the run" for step in clock_steps(records))


def times(records: Iterable[Record]) -> tuple[float, ...]:
    """Returns the time of each record (seconds since the epoch) in their order, even if the clock was set back.

    Later records then have the time that the clock would have shown.
    """
    kept = tuple(records)
    steps = {step.seq: step.seconds for step in clock_steps(kept)}
    found, held = list[float](), 0.0
    for seq, record in enumerate(kept):
        # A clock that was set back and then ahead shows the right time again.
        held = max(0.0, held - steps.get(seq, 0.0))
        at = wall(record) + held
        found.append(max(at, found[-1]) if found else at)
    return tuple(found)
