"""The counts of a workload: sent, acknowledged, received, duplicated, lost."""

import threading
import time
from collections import Counter
from dataclasses import dataclass

_KEPT_ERRORS = 5


@dataclass(frozen=True)
class Counts:
    sent: int
    acknowledged: int
    failed: int
    received: int  # different messages
    duplicated: int  # further copies of a message in the log, each at an offset of its own
    redelivered: int  # a record seen again at the same offset, as after a rebalance
    waiting: int  # acknowledged, not received yet
    lost: int | None  # acknowledged, and neither received nor in the log at the end; None until the end
    last_received_age: float | None
    errors: tuple[str, ...]


class Tally:
    """Shared by the producer's and the consumer's thread. A message is its sequence number."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent = 0
        self._acknowledged: set[int] = set()
        self._failed = 0
        self._places: dict[int, set[tuple[int, int]]] = {}
        self._redelivered = 0
        self._in_log: set[int] | None = None
        self._last_received: float | None = None
        self._errors: Counter[str] = Counter()

    def sending(self) -> int:
        with self._lock:
            self._sent += 1
            return self._sent

    def answered(self, number: int, error: str | None) -> None:
        with self._lock:
            if error is None:
                self._acknowledged.add(number)
            else:
                self._failed += 1
                self._errors[error] += 1

    def received(self, number: int, partition: int, offset: int) -> None:
        with self._lock:
            self._last_received = time.monotonic()
            places = self._places.setdefault(number, set())
            self._redelivered += (partition, offset) in places
            places.add((partition, offset))

    def trouble(self, error: str) -> None:
        with self._lock:
            self._errors[error] += 1

    def audited(self, numbers_in_log: dict[int, set[tuple[int, int]]]) -> None:
        with self._lock:
            self._in_log = set(numbers_in_log)
            for number, places in numbers_in_log.items():
                # A copy that no group member saw counts as a duplicate, but only a consumer can receive a message.
                if number in self._places:
                    self._places[number] |= places

    def acknowledged(self) -> list[int]:
        with self._lock:
            return sorted(self._acknowledged)

    def all_received(self) -> bool:
        with self._lock:
            return self._acknowledged <= self._places.keys()

    def counts(self) -> Counts:
        with self._lock:
            waiting = self._acknowledged - self._places.keys()
            last = self._last_received
            return Counts(
                sent=self._sent,
                acknowledged=len(self._acknowledged),
                failed=self._failed,
                received=len(self._places),
                duplicated=sum(len(places) - 1 for places in self._places.values()),
                redelivered=self._redelivered,
                waiting=len(waiting),
                lost=None if self._in_log is None else len(waiting - self._in_log),
                last_received_age=None if last is None else round(time.monotonic() - last, 3),
                errors=tuple(f"{name} x {times}" for name, times in self._errors.most_common(_KEPT_ERRORS)),
            )
