"""The controllers of a KRaft quorum, for incidents that stop them."""

import time

from kfix.core.errors import UsageError
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.nodes.controllers import ControllerQuorum
from kfix.lab.waiting import wait_for

# An active controller writes a record every 0.5 s (metadata.max.idle.interval.ms), so that its log always grows.
_STILL_SECONDS = 2.0


def quorum_of(context: IncidentContext) -> ControllerQuorum:
    if context.lab.quorum is None:
        raise UsageError(f"lab {context.lab.name!r} has no controllers of a KRaft quorum", hint="kfix lab incidents")
    return context.lab.quorum


def active_id(context: IncidentContext) -> int:
    return wait_for("a controller is active", context.access.controller, 15)


def wait_none_active(context: IncidentContext, seconds: float = 15) -> None:
    quorum = quorum_of(context)
    wait_for("no controller answers as the active one", lambda: quorum.active() is None, seconds)


def wait_record_stands_still(context: IncidentContext, seconds: float = 20) -> dict[int, int]:
    """Returns {broker: offset it has applied}, once none of them has grown for some time."""
    quorum = quorum_of(context)
    offsets, since = quorum.applied(), time.monotonic()

    def still() -> bool:
        nonlocal offsets, since
        now = quorum.applied()
        if now != offsets:
            offsets, since = now, time.monotonic()
        return bool(offsets) and time.monotonic() - since > _STILL_SECONDS

    wait_for("no broker's copy of the record grows", still, seconds)
    return offsets
