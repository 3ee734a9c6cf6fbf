"""A zone that loses its power: all of its processes at once, and what no disk had yet."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from kfix.lab import processes
from kfix.lab.brokers import start_brokers
from kfix.lab.network.weather import zone_of
from kfix.lab.zookeepers import start_zookeepers

if TYPE_CHECKING:
    from kfix.lab.cluster import Lab

_KILL_SECONDS = 15.0


def off(lab: Lab, name: str) -> tuple[str, ...]:
    """Nobody is told: sessions end later, and connections stay open at the other end."""
    zone_of(lab.store, name)
    state = lab.state
    records = [
        record
        for role, nodes in (("zookeeper", state.zookeepers), ("broker", state.brokers))
        for node in nodes
        if node.zone == name and (record := state.record(role, node.id)) is not None
    ]
    for record in records:
        processes.send(record, state.id, signal.SIGKILL)
    processes.wait_dead(records, state.id, _KILL_SECONDS)
    return tuple(f"{each.role} {each.id} is without power" for each in records)


def on(lab: Lab, name: str) -> tuple[str, ...]:
    """ZooKeeper first; until each serves."""
    zone_of(lab.store, name)
    state = lab.state
    servers = [
        each.id
        for each in state.zookeepers
        if each.zone == name and lab.nodes.condition(state, "zookeeper", each.id) == "dead"
    ]
    start_zookeepers(lab, servers)
    brokers = [
        each.id
        for each in state.brokers
        if each.zone == name and not each.retired and lab.nodes.condition(state, "broker", each.id) == "dead"
    ]
    start_brokers(lab, brokers)
    return (*(f"zookeeper {each} is up" for each in servers), *(f"broker {each} is up" for each in brokers))
