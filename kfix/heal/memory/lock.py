"""The cluster lock in memory, which may be held by another run, be missing, or be lost during a run."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterLock
from kfix.core.snapshot.holder import held_error

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
