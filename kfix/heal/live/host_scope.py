"""The lock of a KRaft cluster: there is none that would end with its holder (docs/adr/023)."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.errors import UnreachableError

NO_LOCK = "a KRaft cluster offers no lock that ends with its holder"


class NoClusterLock:
    """A lock that is never taken: a run has only the lock of its host, and every change has a gate of its own."""

    @property
    def scope(self) -> str:
        return "none"

    def take(self, _holder: Mapping[str, str]) -> None:
        raise UnreachableError(NO_LOCK)

    def held(self) -> bool:
        return False

    def release(self) -> None:
        return
