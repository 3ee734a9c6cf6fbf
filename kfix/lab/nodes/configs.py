"""The settings of a node of a lab, with the addresses that its state knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.definition.keeper_security import broker_access, server_settings
from kfix.lab.definition.properties import (
    broker_settings,
    controller_settings,
    kraft_broker_settings,
    migrating_settings,
    zookeeper_settings,
)
from kfix.lab.definition.recipes import ZK
from kfix.lab.definition.secured import secured_settings
from kfix.lab.definition.state import ON_KRAFT, BrokerDef, ControllerDef, ZooKeeperDef

if TYPE_CHECKING:
    from pathlib import Path

    from kfix.lab.definition.state import LabState, Node


def settings_of(state: LabState, node: Node, disk: Path) -> dict[str, str]:
    address = state.host_of(node).address
    if isinstance(node, ZooKeeperDef):
        ensemble = {each: state.host_of(each).address for each in state.zookeepers}
        return zookeeper_settings(node, ensemble, disk) | server_settings(state, node, address)
    if isinstance(node, ControllerDef):
        settings = controller_settings(state.spec, node, quorum_of(state), disk) | secured_settings(state)
        if state.spec.recipe.mode == ZK:
            connect = "" if state.migrating.get(str(node.id)) == ON_KRAFT else zookeeper_connect(state)
            settings |= migrating_settings(state.spec, quorum_of(state), connect, listener=False)
        return settings
    return _broker(state, node, disk) | {"log.dirs": ",".join(map(str, disks_of(node, disk)))}


def disks_of(node: Node, disk: Path) -> tuple[Path, ...]:
    """Returns the log directories of a node."""
    return (disk, second_disk(disk)) if isinstance(node, BrokerDef) and node.second_disk else (disk,)


def second_disk(disk: Path) -> Path:
    """Returns the second log directory of a broker that has two."""
    return disk.with_name(f"{disk.name}-second")


def _broker(state: LabState, node: BrokerDef, disk: Path) -> dict[str, str]:
    address = state.host_of(node).address
    if step := state.migrating.get(str(node.id)):
        return _migrating_broker(state, node, step, address, disk)
    if state.spec.recipe.mode == ZK:
        settings = broker_settings(state.spec, node, zookeeper_connect(state), address, disk) | broker_access(state)
    else:
        settings = kraft_broker_settings(state.spec, node, quorum_of(state), address, disk)
    return settings | secured_settings(state)


def _migrating_broker(state: LabState, node: BrokerDef, step: str, address: str, disk: Path) -> dict[str, str]:
    quorum, connect = quorum_of(state), zookeeper_connect(state)
    if step == ON_KRAFT:
        return kraft_broker_settings(state.spec, node, quorum, address, disk) | migrating_settings(state.spec, quorum)
    settings = broker_settings(state.spec, node, connect, address, disk)
    return settings | migrating_settings(state.spec, quorum, connect)


def zookeeper_connect(state: LabState) -> str:
    """Returns where brokers and kfix find ZooKeeper: with TLS at the port that requires it."""
    servers = (
        f"{state.host_of(node).address}:{node.port if node.secure_port is None else node.secure_port}"
        for node in state.zookeepers
    )
    return ",".join(servers) + state.spec.chroot


def plain_zookeeper_connect(state: LabState) -> str:
    """Returns where the lab itself finds ZooKeeper."""
    return ",".join(state.address_of(node) for node in state.zookeepers) + state.spec.chroot


def quorum_of(state: LabState) -> dict[ControllerDef, str]:
    """Returns {voter: its address without the port}."""
    return {each: state.host_of(each).address for each in state.controllers}
