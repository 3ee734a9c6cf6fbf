"""What one DescribeQuorum shows: its replicas, and whether a majority of the voters follows the active controller.

A newly elected controller answers as the active one before any voter has fetched from it: until its first record is
committed, it does not know what its predecessor had committed, and its high watermark is -1. A controller that was
frozen, or is cut off from the others, answers so until it notices (docs/facts/kraft.md).
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence

from kfix.core.derive.quorum import majority
from kfix.core.kafka.kraft_messages import DescribedQuorum, VoterState
from kfix.core.snapshot.quorum import QuorumReplica
from kfix.core.timing import clocks_apart

#: A follower fetches at least twice a second, and elects another leader after controller.quorum.fetch.timeout.ms (2 s
#: by default) without an answer. A change waits for a controller that is surely followed.
_FETCHED_WITHIN_MS = 1500
#: A controller without a majority for that long has surely been deposed. A pause is shorter.
DEPOSED_MS = 5000


def unsustained(found: DescribedQuorum, within_ms: int = _FETCHED_WITHIN_MS) -> str:
    """Returns why this is not the answer of an active controller that a majority of the voters follows, or ""."""
    if found.error or found.leader < 0:
        return "not the active one"
    if just_elected(found):
        return f"controller {found.leader} has just been elected, and does not know yet what is committed"
    now = now_of(found)
    if now < 0 or len(found.voters) <= 1:  # A version without fetch times, or a single voter.
        return ""
    ages = [now - v.fetched_ms for v in found.voters if v.node != found.leader and v.fetched_ms >= 0]
    following = 1 + sum(age <= within_ms for age in ages)
    if following >= majority(len(found.voters)):
        return ""
    return f"controller {found.leader} reports that it is active, but a majority of the voters no longer follows it"


def just_elected(found: DescribedQuorum) -> bool:
    """Returns whether this is an active controller without a high watermark: ask again, it has one within 20 ms."""
    return not found.error and found.leader >= 0 and found.high_watermark < 0


def now_of(active: DescribedQuorum) -> int:
    """Returns the time by the clock of the active controller: its own entry is as old as its answer."""
    own = [v.caught_up_ms for v in active.voters if v.node == active.leader]
    return max([*own, *(v.fetched_ms for v in (*active.voters, *active.observers))], default=-1)


def clock_ahead(active: DescribedQuorum) -> int | None:
    """Returns the seconds by which this host's clock is ahead of the controller's; 0 if they agree, None if unknown."""
    now = now_of(active)
    if now < 0 or not active.heard_at:
        return None
    return clocks_apart(active.heard_at - now / 1000)


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


def directory_bytes(text: str) -> bytes:
    """Returns a directory id as it is sent, from its text."""
    return base64.urlsafe_b64decode(f"{text}==")
