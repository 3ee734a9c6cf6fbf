"""Counts the requests to each server while a snapshot is read (`kfix diagnose --stats`)."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.snapshot.traffic import Traffic


class LineCounts:
    """The counts of one connection, used by one thread at a time."""

    __slots__ = ("received", "requests", "sent")

    def __init__(self) -> None:
        self.requests = self.sent = self.received = 0


class Ledger:
    """The counts of all connections of a snapshot. Several threads may open connections at once."""

    def __init__(self) -> None:
        self._connections: list[tuple[Endpoint, LineCounts]] = []

    def connected(self, endpoint: Endpoint) -> LineCounts:
        """Notes a connection and returns its counts."""
        counts = LineCounts()
        self._connections.append((endpoint, counts))
        return counts

    def totals(self) -> dict[str, Traffic]:
        """Returns {address: the requests to that server}, sorted by address."""
        found: dict[str, Traffic] = {}
        for endpoint, counts in self._connections:
            before = found.get(str(endpoint), Traffic(0, 0, 0, 0))
            found[str(endpoint)] = Traffic(
                before.connections + 1,
                before.requests + counts.requests,
                before.sent + counts.sent,
                before.received + counts.received,
            )
        return dict(sorted(found.items()))
