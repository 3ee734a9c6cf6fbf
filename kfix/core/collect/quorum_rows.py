"""The replicas of the metadata log for a snapshot: ages instead of times, and directory ids in Kafka's text."""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence

from kfix.core.collect.sustained import now_of
from kfix.core.kafka.kraft_messages import DescribedQuorum, VoterState
from kfix.core.snapshot.quorum import QuorumReplica


def last_fetch(active: DescribedQuorum, node: int) -> float | None:
    """Returns the seconds since the last fetch of a voter or observer; None if the active controller knows none."""
    rows = replica_rows([s for s in (*active.voters, *active.observers) if s.node == node], now_of(active))
    return min((row.fetched for row in rows if row.fetched >= 0), default=None)


def replica_rows(
    states: Sequence[VoterState], now_ms: int, by_directory: Collection[int] | None = None
) -> tuple[QuorumReplica, ...]:
    """`by_directory` are the nodes whose directory ids matter; None: all nodes."""

    def age(at_ms: int) -> float:
        return round(max(now_ms - at_ms, 0) / 1000, 3) if at_ms >= 0 and now_ms >= 0 else -1.0

    def directory(state: VoterState) -> str:
        return directory_text(state.directory) if by_directory is None or state.node in by_directory else ""

    rows = (QuorumReplica(s.node, s.log_end, age(s.fetched_ms), age(s.caught_up_ms), directory(s)) for s in states)
    return tuple(sorted(rows))


def directory_text(raw: bytes) -> str:
    """Returns a directory id as Kafka writes it, "" for none: a static quorum has zeros."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=") if any(raw) else ""
