"""The real clock, and the time by which a plan expires during a run."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kfix.core.ports import Clock

# Linux makes a new random id at each boot; other systems have no id for a boot.
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def boot(self) -> str:
        with suppress(OSError):
            return _BOOT_ID.read_text(encoding="ascii").strip()
        return ""

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(frozen=True, slots=True)
class RunTime:
    """The wall clock of a run, which is never set back: a plan expires after its time, whatever the host's clock shows.

    `wall` and `steady` are `Clock.now` and `Clock.monotonic` at the beginning of the run, in seconds.
    """

    clock: Clock
    wall: float
    steady: float

    @classmethod
    def begins(cls, clock: Clock) -> RunTime:
        return cls(clock, clock.now(), clock.monotonic())

    def now(self) -> float:
        """Returns seconds since the epoch. A clock that was set ahead counts: the host may have been suspended."""
        return max(self.clock.now(), self.wall + self.clock.monotonic() - self.steady)
