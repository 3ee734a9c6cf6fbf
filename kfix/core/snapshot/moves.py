"""The progress of a reassignment in earlier snapshots."""

from __future__ import annotations

from typing import NamedTuple

from kfix.core.declared import Int32, Moment


class MoveSeen(NamedTuple):
    """A partition that is being reassigned, and the progress of its new replicas.

    `ends` are (broker, log end) of the replicas that are being added and are not in sync, in order. Earlier snapshots
    found the same ones first at `since` and last at `last`, in seconds since the epoch.
    """

    since: Moment
    last: Moment
    ends: tuple[tuple[Int32, int], ...]
