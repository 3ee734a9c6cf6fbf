"""The status of a lab: frozen, and the same for the terminal and for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kfix.lab.network.faults import sentences
from kfix.lab.workload.background import summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kfix.lab.definition.state import LabState
    from kfix.lab.nodes.handle import LabHandle


@dataclass(frozen=True)
class ProcessStatus:
    role: str
    id: int
    pid: int | None
    condition: str  # alive, stopped or dead
    address: str
    rack: str | None
    note: str = ""


@dataclass(frozen=True)
class LabStatus:
    name: str
    kafka: str
    mode: str  # zk or kraft
    bootstrap_servers: str
    sasl_bootstrap_servers: str | None  # of the second listener
    zookeeper_connect: str  # empty on KRaft
    controllers: str  # HOST:PORT of each controller, empty with ZooKeeper
    active_controller: int | None  # on KRaft; None if no controller answers as the active one
    folder: str
    processes: tuple[ProcessStatus, ...]
    incident: str | None
    security: str = ""  # of the second listener: a protocol, and the mechanism where there is one
    client_properties: tuple[str, ...] = ()  # files for --command-config, of a secured lab
    network: tuple[str, ...] = ()  # what is cut or slow, a sentence each


def status_of(lab: LabHandle) -> LabStatus:
    state = lab.state
    places: list[tuple[str, int, str, str | None]] = [
        ("zookeeper", node.id, state.address_of(node), node.zone) for node in state.zookeepers
    ]
    places += [("controller", node.id, state.address_of(node), node.zone) for node in state.own_controllers]
    places += [("broker", each.id, state.address_of(each), each.rack) for each in state.brokers if not each.retired]
    places += [("workload", each.id, "", None) for each in state.processes if each.role == "workload"]
    quorum = lab.quorum.active() if lab.quorum else None
    active = quorum.leader if quorum else None
    notes = _notes(state, active)
    return LabStatus(
        name=state.name,
        kafka=state.spec.kafka,
        mode=state.spec.recipe.mode,
        bootstrap_servers=lab.bootstrap_servers,
        sasl_bootstrap_servers=lab.sasl_bootstrap_servers,
        zookeeper_connect=lab.zookeeper_connect,
        controllers=",".join(state.address_of(each) for each in state.controllers),
        active_controller=active,
        folder=str(lab.store.dir),
        processes=tuple(_process(lab, state, *place, notes) for place in places),
        incident=state.incident,
        security=" ".join(filter(None, (state.spec.listener, state.spec.mechanism_used))),
        client_properties=lab.client_files,
        network=sentences(state.network),
    )


def _notes(state: LabState, active: int | None) -> dict[tuple[str, int], str]:
    """Returns {(role, number): what is said of that process}: which brokers are controllers, and who is active."""
    role, word = ("broker", "controller") if state.spec.combined else ("controller", "")
    return {(role, each.id): f"{word} {'active' if each.id == active else ''}".strip() for each in state.controllers}


def _process(
    lab: LabHandle,
    state: LabState,
    role: str,
    number: int,
    address: str,
    rack: str | None,
    notes: Mapping[tuple[str, int], str],
) -> ProcessStatus:
    record = state.record(role, number)
    condition = lab.nodes.condition(state, role, number)
    note = summary(lab, number) if role == "workload" else notes.get((role, number), "")
    return ProcessStatus(role, number, record.pid if record else None, condition, address, rack, note)
