"""A zone that loses its power: all of its processes die at once."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from kfix.lab.network.faults import zone_of
from kfix.lab.nodes.brokers import start_brokers
from kfix.lab.process import processes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kfix.lab.definition.state import LabState, Node
    from kfix.lab.nodes.handle import LabHandle

_KILL_SECONDS = 15.0


def off(lab: LabHandle, name: str) -> tuple[str, ...]:
    """Returns when the processes are dead. Sessions end later, and connections stay open at the other end."""
    zone_of(lab.store, name)
    state = lab.state
    records = [
        record
        for role, nodes in ((lab.authority.role, _keepers(state)), ("broker", state.brokers))
        for node in nodes
        if node.zone == name and (record := state.record(role, node.id)) is not None
    ]
    for record in records:
        processes.send(record, state.id, signal.SIGKILL)
    processes.wait_dead(records, state.id, _KILL_SECONDS)
    return tuple(f"{each.role} {each.id} has lost its power" for each in records)


def on(lab: LabHandle, name: str) -> tuple[str, ...]:
    """Starts ZooKeeper or controllers, then the brokers, and returns when each of them serves."""
    zone_of(lab.store, name)
    state, role = lab.state, lab.authority.role
    servers = [
        each.id for each in _keepers(state) if each.zone == name and lab.nodes.condition(state, role, each.id) == "dead"
    ]
    lab.authority.start(servers)
    brokers = [
        each.id
        for each in state.brokers
        if each.zone == name and not each.retired and lab.nodes.condition(state, "broker", each.id) == "dead"
    ]
    start_brokers(lab, brokers)
    return (*(f"{role} {each} is up" for each in servers), *(f"broker {each} is up" for each in brokers))


def _keepers(state: LabState) -> Sequence[Node]:
    """Returns the nodes with processes of their own that keep the metadata."""
    return state.zookeepers or state.own_controllers
