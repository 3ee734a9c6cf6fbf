"""Where the log of a replica, or an epoch of it, ends."""

from __future__ import annotations

from typing import NamedTuple

from kfix.core.declared import Int32


class LogEnd(NamedTuple):
    """The log of one replica, by ListOffsets with replica id -2: works without a leader (docs/facts/data-loss.md)."""

    start: int
    end: int
    error: str = ""


class EpochEnd(NamedTuple):
    """Where an older epoch ended, by today's leader (OffsetForLeaderEpoch): records beyond it differ.

    `epoch` is the one asked for, `end` the first offset that is not of it; -1 with `error` if it is unknown. A
    snapshot from a vantage asks for the epoch before the leader's own and keeps the epoch that the answer names.
    """

    leader: Int32
    epoch: Int32
    end: int
    error: str = ""
