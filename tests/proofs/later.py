"""Things that happen while a run goes on: at a time, at a record, at a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kfix.heal.memory.state import ManualClock
from tests.proofs.stage import Stage


class EventfulClock:
    """The cluster's own clock; what is due happens while somebody sleeps."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._due: list[tuple[float, Callable[[], object]]] = []

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        self._due.append((self._clock.monotonic() + seconds, act))

    def now(self) -> float:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def boot(self) -> str:
        return self._clock.boot()

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)
        for item in [d for d in self._due if d[0] <= self._clock.monotonic()]:
            self._due.remove(item)
            item[1]()


def once(stage: Stage, act: Callable[[], object], **wanted: object) -> None:
    """`act` runs at the first record with these fields."""
    done: list[bool] = []

    def listener(record: Mapping[str, Any]) -> None:
        if not done and all(record.get(k) == v for k, v in wanted.items()):
            done.append(True)
            act()

    stage.listeners.append(listener)
