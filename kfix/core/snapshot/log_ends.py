"""The ends of a replica's log and of its leader epochs."""

from __future__ import annotations

from typing import NamedTuple

from kfix.core.declared import Int32


class LogEnd(NamedTuple):
    """The log of one replica, by ListOffsets with replica id -2: works without a leader (docs/facts/data-loss.md)."""

    start: int
    end: int
    error: str = ""


class EpochEnd(NamedTuple):
    """The end of an older epoch, from today's leader (OffsetForLeaderEpoch): records beyond it differ.

    `epoch` is the requested one, `end` the first offset after it; -1 with `error` if it is unknown. A snapshot from a
    vantage requests the epoch before the leader's own and keeps the epoch that the answer names.
    """

    leader: Int32
    epoch: Int32
    end: int
    error: str = ""
