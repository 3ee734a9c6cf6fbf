"""Verbs on the servers of the ZooKeeper ensemble."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.definition.state import no_such
from kfix.lab.nodes.readiness import wait_zookeeper

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.lab.nodes.handle import LabHandle


def restart_zookeepers(lab: LabHandle, numbers: Iterable[int]) -> None:
    """Shuts down those that are alive, then starts all of `numbers`.

    Returns when each of them serves: with a quorum where a majority is alive, else read-only.
    """
    wanted = tuple(numbers)
    state = lab.state
    lab.nodes.shutdown(
        state, [each for each in wanted if lab.nodes.condition(state, "zookeeper", each) != "dead"], "zookeeper"
    )
    start_zookeepers(lab, wanted)


def start_zookeepers(lab: LabHandle, numbers: Iterable[int]) -> None:
    """Starts dead servers in parallel and returns when each of them serves."""
    wanted = tuple(numbers)
    if not wanted:
        return
    state = lab.state
    known = {each.id: each for each in state.zookeepers}
    for number in wanted:
        if number not in known:
            raise no_such(state, "zookeeper", number)
    for number in wanted:
        lab.nodes.start_zookeeper(state, known[number])
    wait_zookeeper(lab, wanted)
