"""Partitions that lacked replicas in earlier snapshots: who had every record."""

from __future__ import annotations

from typing import NamedTuple

from kfix.core.declared import Int32, Moment


class AtRisk(NamedTuple):
    """A partition of which not every replica was in sync, in the last snapshot with that state, at `at`.

    Any broker of `holders` could lead it without a loss: the ISR, and on KRaft the eligible replicas. `leader` is -1 if
    it had none; `epoch` and `version` are of its state, `version` is -1 on KRaft. `former` led it last, in the epoch
    `former_epoch`, and had the log end `end` and the high watermark `visible`; each is -1 if it is unknown. At `until`,
    a loss is forgotten whose holders have returned; 0 if none was seen. Times are in seconds since the epoch.
    """

    at: Moment
    leader: Int32
    epoch: Int32
    version: Int32
    holders: tuple[Int32, ...]
    former: Int32 = -1
    former_epoch: Int32 = -1
    end: int = -1
    visible: int = -1
    until: Moment = 0.0
