"""What befalls nodes of a lab: power loss, a disk that fails or is lost, a start as a broker of another cluster."""

from __future__ import annotations

import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kfix.core.errors import UnreachableError
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.definition.state import ControllerDef, new_uuid
from kfix.lab.definition.store import private
from kfix.lab.network.faults import zone_of
from kfix.lab.nodes.brokers import restart_brokers, start_brokers
from kfix.lab.nodes.configs import second_disk
from kfix.lab.nodes.nodes import STRAY
from kfix.lab.process import processes
from kfix.lab.process.host import LOOPBACK, free_ports
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kfix.lab.definition.state import LabState, Node
    from kfix.lab.nodes.handle import LabHandle


# A zone that loses its power: all of its processes die at once.

_KILL_SECONDS = 15.0


def power_off(lab: LabHandle, name: str) -> tuple[str, ...]:
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


def power_on(lab: LabHandle, name: str) -> tuple[str, ...]:
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


# A second log directory of a broker, which can fail while the broker runs.
#
# The directory is moved aside and a file has its name: the broker fails when it next writes a checkpoint there, at most
# 5 s later, and keeps its other log directory. It reads its log directories again only when it starts.


def add_disk(lab: LabHandle, broker: int) -> None:
    """Restarts a broker with a second, empty log directory, which the next partitions of the broker are placed in."""
    private(_disk(lab, broker))
    _restart(lab, broker, second=True)


def fail_disk(lab: LabHandle, broker: int) -> None:
    disk = _disk(lab, broker)
    disk.rename(_aside(disk))
    disk.write_text("a file in place of the log directory", encoding="ascii")


def repair_disks(lab: LabHandle) -> tuple[int, ...]:
    """Puts the failed directories back and restarts their brokers; returns these."""
    failed = [each for each in with_two(lab) if _aside(_disk(lab, each)).exists()]
    for broker in failed:
        disk = _disk(lab, broker)
        disk.unlink(missing_ok=True)
        _aside(disk).rename(disk)
    restart_brokers(lab, failed)
    return tuple(failed)


def remove_disks(lab: LabHandle) -> tuple[int, ...]:
    """Restarts the brokers with their first log directory alone; what is in the second is gone. Returns these."""
    brokers = with_two(lab)
    for broker in brokers:
        _restart(lab, broker, second=False)
        shutil.rmtree(_disk(lab, broker), ignore_errors=True)
    return brokers


def with_two(lab: LabHandle) -> tuple[int, ...]:
    return tuple(each.id for each in lab.state.brokers if each.second_disk and not each.retired)


def _restart(lab: LabHandle, broker: int, *, second: bool) -> None:
    old = lab.state.broker(broker)
    assert old is not None
    lab.store.update(lambda state: state.with_broker(replace(old, second_disk=second)))
    restart_brokers(lab, [broker])


def _disk(lab: LabHandle, broker: int) -> Path:
    return second_disk(lab.nodes.disk_of(lab.state, broker))


def _aside(disk: Path) -> Path:
    return disk.with_name(f"{disk.name}.aside")


# Controllers whose disks are lost: the disks are moved aside, where nothing but `mend` finds them.


def lose_disks(lab: LabHandle, controllers: Iterable[int]) -> None:
    for number in controllers:
        disk = lab.nodes.disk_of(lab.state, number, "controller")
        disk.rename(_aside(disk))


def start_on_new_disk(lab: LabHandle, controller: int) -> None:
    """Starts a controller whose disk is lost with an empty one, which is formatted to join the quorum."""
    state = lab.state
    node = state.controller(controller)
    assert node is not None
    lab.nodes.format_disks(state, "controller", [node], joining=True)
    lab.nodes.start(state, "controller", node)


def start_on_lost_disk(lab: LabHandle, controller: int) -> None:
    """Kills a controller and starts it with the disk that it had before; the one that it has now is the lost one."""
    state = lab.state
    node = state.controller(controller)
    assert node is not None
    lab.nodes.kill(state, [controller], "controller")
    disk = lab.nodes.disk_of(state, controller, "controller")
    newer = disk.with_name(f"{disk.name}.newer")
    disk.rename(newer)
    _aside(disk).rename(disk)
    newer.rename(_aside(disk))
    lab.nodes.start(state, "controller", node)


def forget_lost_disk(lab: LabHandle, controller: int) -> None:
    shutil.rmtree(_aside(lab.nodes.disk_of(lab.state, controller, "controller")))


def without_disk(lab: LabHandle) -> tuple[int, ...]:
    """Returns the controllers whose disks are lost, also if they have new disks since."""
    state = lab.state
    numbers = (each.id for each in state.own_controllers)
    return tuple(each for each in numbers if _aside(lab.nodes.disk_of(state, each, "controller")).exists())


def give_disks_back(lab: LabHandle) -> None:
    """Returns the lost disks, and erases those that the controllers have got since. It starts no controller."""
    state, numbers = lab.state, without_disk(lab)
    lab.nodes.kill(state, [n for n in numbers if lab.nodes.condition(state, "controller", n) != "dead"], "controller")
    for number in numbers:
        lab.nodes.wipe_disk(state, number, "controller")
        disk = lab.nodes.disk_of(state, number, "controller")
        _aside(disk).rename(disk)


# A broker that was started as a broker of another cluster: with an empty disk and other settings, at its old address.
#
# Its own disk stays as it was. The process is a `stray` in lab.json, so that the broker itself counts as dead.

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
