"""Counts the requests to each server while a snapshot is read (`kfix diagnose --stats`)."""

from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.snapshot.traffic import Traffic, in_all


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
        each = ({str(e): Traffic(1, c.requests, c.sent, c.received)} for e, c in self._connections)
        return in_all(*each)
