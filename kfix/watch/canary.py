"""A canary beside a watch, in a thread of its own: a round every minute, whatever the snapshots do."""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from kfix.canary.canary import Canary
from kfix.canary.model import CanaryOptions, CanaryRound, CoordinatorTry, LeaderTry
from kfix.core.errors import UnreachableError
from kfix.core.target import Target
from kfix.watch.model import CanaryCount, CanaryState

#: How long the end of a watch waits for a round that has begun.
_LONGEST_END: Final = 60.0


@dataclass(frozen=True, slots=True)
class CanaryRequest:
    """`every` is the time from one round to the next, in seconds."""

    every: float
    options: CanaryOptions


class CanaryThread:
    """Raises UsageError if the topic does not exist, or for settings that librdkafka lacks."""

    def __init__(self, target: Target, request: CanaryRequest) -> None:
        self._target, self._request = target, request
        self._ended = threading.Event()
        self.state = CanaryState()
        try:
            Canary(target, request.options)
        except UnreachableError as error:
            self.state = CanaryState(error=str(error))
        self._thread = threading.Thread(target=self._run, name="kfix canary", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join(_LONGEST_END)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                with Canary(self._target, self._request.options) as canary:
                    self._rounds(canary)
            except Exception as error:  # noqa: BLE001 - whatever it is: the metrics must not stay as they were
                self.state = replace(self.state, up=False, error=str(error))
                self._ended.wait(self._request.every)

    def _rounds(self, canary: Canary) -> None:
        while not self._ended.is_set():
            began = time.monotonic()
            self.state = counted(self.state, canary.round())
            self._ended.wait(max(self._request.every - (time.monotonic() - began), 0.0))


def counted(state: CanaryState, done: CanaryRound) -> CanaryState:
    """Returns the state after one more round."""
    tries: Iterable[LeaderTry | CoordinatorTry] = (*done.leaders, *done.coordinators)
    counts = dict(state.counts)
    for each in tries:
        kind, seconds = ("leader", each.seconds) if isinstance(each, LeaderTry) else ("coordinator", each.joined)
        before = counts.get(str(each.partition), CanaryCount(kind))
        counts[str(each.partition)] = CanaryCount(
            kind,
            each.broker,
            before.tries + 1,
            before.failures + bool(each.error),
            None if each.error else seconds,
            before.total + (0.0 if each.error else seconds),
        )
    up = all(each.seconds is not None for each in counts.values())
    return CanaryState(up, "", state.rounds + 1, done.at, counts)
