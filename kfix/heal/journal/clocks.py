"""How long ago a record of a journal was written, even if the host's clock was set since then."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from kfix.core.clock_steps import wall
from kfix.core.ports import Clock

Record = Mapping[str, Any]


def seconds_since(record: Record, clock: Clock) -> float:
    """Returns how long ago a record was written, in seconds.

    For a record from before the last boot, or from another host, it compares two wall clocks; the result is negative if
    one of them is wrong.
    """
    passed = _in_this_boot(record, clock)
    return clock.now() - wall(record) if passed is None else passed


def surely_since(record: Record, clock: Clock) -> float:
    """Returns the seconds that have surely passed since a record was written, even if the clock was set meanwhile.

    A host that has booted since then has been up for that long. If a boot has no name, the wall clock decides.
    """
    passed = _in_this_boot(record, clock)
    if passed is not None:
        return passed
    if not clock.boot() or not record.get("boot"):
        return max(0.0, seconds_since(record, clock))
    who = record.get("who")
    here = isinstance(who, Mapping) and who.get("host") == socket.gethostname()
    return clock.monotonic() if here else 0.0


def _in_this_boot(record: Record, clock: Clock) -> float | None:
    """Returns the seconds since a record, or None if it was not written since this host booted."""
    boot = clock.boot()
    if not boot or record.get("boot") != boot or "mono" not in record:
        return None
    passed = clock.monotonic() - float(record["mono"])
    return passed if passed >= 0 else None
