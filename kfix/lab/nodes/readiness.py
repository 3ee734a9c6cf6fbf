"""When a lab is up: every broker is registered, and every broker answers and names all others."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kfix.core.errors import LabError
from kfix.lab.nodes.authority import START_SECONDS
from kfix.lab.waiting import POLL_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.lab.clients.access import LabClient
    from kfix.lab.definition.state import LabState
    from kfix.lab.nodes.handle import LabHandle
    from kfix.lab.nodes.nodes import Nodes


def wait_brokers(lab: LabHandle, access: LabClient, started: Iterable[int], seconds: float = START_SECONDS) -> None:
    """Returns when all of `started` answer and name every live broker."""
    started = tuple(started)
    nodes, state = lab.nodes, lab.state
    deadline = time.monotonic() + seconds
    while not _all_answer(nodes, access, state, started):
        nodes.raise_if_dead(state, "broker", started)
        if time.monotonic() > deadline:
            raise LabError(
                f"brokers {', '.join(map(str, started))} are not ready after {seconds:.0f} s",
                hint="is the machine overloaded? see the lab's logs",
            )
        time.sleep(POLL_SECONDS)


def _all_answer(nodes: Nodes, access: LabClient, state: LabState, started: tuple[int, ...]) -> bool:
    registered = access.live_ids()
    if not registered.issuperset(started):
        return False
    expected = set(nodes.brokers_in(state, "alive")) & registered
    for broker in started:
        seen = access.metadata(broker)
        # No controller yet: CreateTopics and elections would fail.
        if seen is None or seen.controller < 0 or not seen.brokers.keys() >= expected:
            return False
    return True
