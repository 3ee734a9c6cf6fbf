"""A broker that was started as a broker of another cluster: with an empty disk and other settings, at its old address.

Its own disk stays as it was. The process is a `stray` in lab.json, so that the broker itself counts as dead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kfix.core.errors import UnreachableError
from kfix.lab.definition.ids import new_uuid
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.definition.state import ControllerDef
from kfix.lab.nodes.nodes import STRAY
from kfix.lab.process.host import LOOPBACK
from kfix.lab.process.ports import free_ports
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.definition.state import LabState
    from kfix.lab.nodes.handle import LabHandle

#: The chroot of the other cluster, in the ZooKeeper of this one.
CHROOT = "/elsewhere"
_START_SECONDS = 60.0
_ANSWER_SECONDS = 1.0


class Stray(NamedTuple):
    """The cluster that a broker was started as, and the address of its controller, "" with ZooKeeper."""

    cluster: str
    controller: str


def start_elsewhere(lab: LabHandle, broker: int, own: str) -> Stray:
    """Starts a dead broker as the only broker of another cluster.

    `own` is the id of the cluster of the lab. With ZooKeeper, the broker has another chroot; on KRaft, its disk is
    formatted with another cluster id, and it is the only controller, too.
    """
    with lab.store.choosing_ports() as taken:
        # The port is free for other labs until the broker has it; another lab then chooses a port that can be bound.
        [port] = free_ports(1, taken, LOOPBACK.can_bind)
        elsewhere = _elsewhere(lab.state, broker, port)
        node = elsewhere.broker(broker)
        assert node is not None
        lab.nodes.start_stray(elsewhere, node)
    address = lab.address(broker)

    def other() -> str:
        lab.nodes.raise_if_dead(lab.state, STRAY, [broker])
        found = cluster_at(address)
        return found if found != own else ""

    cluster = wait_for(f"{address} answers as another cluster", lambda: other() or None, _START_SECONDS)
    return Stray(cluster, next((elsewhere.address_of(each) for each in elsewhere.controllers), ""))


def end_strays(lab: LabHandle) -> tuple[int, ...]:
    """Ends them and removes their disks; returns their broker ids."""
    state = lab.state
    strays = tuple(each.id for each in state.processes if each.role == STRAY)
    running = [each for each in strays if lab.nodes.condition(state, STRAY, each) != "dead"]
    lab.nodes.kill(state, running, STRAY)
    for each in strays:
        lab.nodes.wipe_disk(state, each, STRAY)
    lab.store.update(_without_strays)
    return strays


def cluster_at(address: str) -> str:
    """Returns the id of the cluster of the broker that answers there, "" if none answers or it knows of none."""
    from kfix.core.kafka import requests  # noqa: PLC0415 - the lab loads without them
    from kfix.lab.clients.asking import ask  # noqa: PLC0415 - brings the protocol code

    try:
        return ask(address, requests.metadata(()), _ANSWER_SECONDS).cluster_id
    except UnreachableError:
        return ""


def _elsewhere(state: LabState, broker: int, port: int) -> LabState:
    """Returns the lab as the settings of such a broker describe it."""
    spec = replace(state.spec, ids=(broker,), racks=(), offsets_rf=1, controllers=1)
    if spec.recipe.mode == KRAFT:
        own = ControllerDef(broker, port, new_uuid())
        return replace(state, spec=replace(spec, combined=True), controllers=(own,), cluster_id=new_uuid())
    return replace(state, spec=replace(spec, chroot=spec.chroot + CHROOT))


def _without_strays(state: LabState) -> LabState:
    return replace(state, processes=tuple(each for each in state.processes if each.role != STRAY))
