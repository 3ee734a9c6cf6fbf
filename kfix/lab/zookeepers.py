"""Servers of the ensemble coming back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.nodes import no_such
from kfix.lab.readiness import wait_zookeeper

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.lab.cluster import Lab


def start_zookeepers(lab: Lab, numbers: Iterable[int]) -> None:
    """Dead ones, side by side."""
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
    wait_zookeeper(lab.nodes, lab.state, wanted)
