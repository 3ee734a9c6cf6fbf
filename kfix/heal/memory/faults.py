"""Faults of the in-memory cluster, what tests inject between two calls, and its lock."""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterLock
from kfix.core.snapshot.holder import held_error
from kfix.core.snapshot.reading import ChangeResult

NO_ANSWER = ChangeResult(-1, "NO_ANSWER", "no answer in time")


@dataclass(frozen=True, slots=True)
class Call:
    """One change that reached the cluster, with its literal arguments."""

    method: str
    args: tuple[object, ...]


@dataclass(slots=True)
class Faults:
    """`unreadable` names methods of the reader that raise; `before` runs ahead of the next calls of a method."""

    calls: list[Call] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    _before: dict[str, deque[Callable[[], None]]] = field(default_factory=lambda: defaultdict(deque))
    _answers: dict[str, deque[tuple[ChangeResult, bool]]] = field(default_factory=lambda: defaultdict(deque))

    def before(self, method: str, act: Callable[[], None], *, after_calls: int = 0) -> None:
        """Runs `act` once, ahead of the next call of `method`, or ahead of one `after_calls` later."""
        queue = self._before[method]
        queue.extend([_nothing] * (after_calls - len(queue)))
        queue.append(act)

    def answer(self, method: str, result: ChangeResult, *, applied: bool = False) -> None:
        """The next change of this kind answers `result`; `applied` is whether the cluster applied it."""
        self._answers[method].append((result, applied))

    def lose_answer(self, method: str, *, applied: bool) -> None:
        self.answer(method, NO_ANSWER, applied=applied)

    def reading(self, method: str) -> None:
        self.reads.append(method)
        self._surprise(method)
        if method in self.unreadable:
            raise UnreachableError(f"{method}: {self.unreadable[method]}")

    def changing(self, method: str, args: tuple[object, ...], act: Callable[[], ChangeResult]) -> ChangeResult:
        self._surprise(method)
        self.calls.append(Call(method, args))
        if self._answers[method]:
            result, applied = self._answers[method].popleft()
            if applied:
                act()
            return result
        return act()

    def _surprise(self, method: str) -> None:
        if self._before[method]:
            self._before[method].popleft()()


def _nothing() -> None: ...


# Of the process: a cluster with its lock can be copied.
_TAKING = threading.Lock()


class MemoryLock(ClusterLock):
    """`missing` is the reason why there is no lock; `holder` is the holder now, None if it is free."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self.missing = ""
        self.holder: Mapping[str, str] | None = None
        self._ours = False
        self._left: int | None = None

    @property
    def scope(self) -> str:
        return "all kfix on this cluster (memory)"

    def take(self, holder: Mapping[str, str]) -> None:
        if self.missing:
            raise UnreachableError(f"there is no lock: {self.missing}; nothing was changed")
        with _TAKING:
            if self.holder is not None:
                raise held_error(self._cluster, self.holder, where="an unknown host", hint="wait for it")
            self.holder, self._ours = dict(holder), True

    def held(self) -> bool:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                self._ours, self.holder = False, None
        return self._ours

    def release(self) -> None:
        if self._ours:
            self.holder = None
        self._ours = False

    def hold_by(self, holder: Mapping[str, str]) -> None:
        self.holder, self._ours = dict(holder), False

    def lose(self, *, after_calls: int = 0) -> None:
        """Loses the lock as an expired session does: `held` is true this many times more, then false."""
        self._left = after_calls
