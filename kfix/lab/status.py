"""The status of a lab: frozen, and the same for the terminal and for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kfix.lab.network.faults import sentences
from kfix.lab.workload.background import summary

if TYPE_CHECKING:
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
    bootstrap_servers: str
    sasl_bootstrap_servers: str | None
    zookeeper_connect: str
    folder: str
    processes: tuple[ProcessStatus, ...]
    incident: str | None
    network: tuple[str, ...] = ()  # what is cut or slow, a sentence each


def status_of(lab: LabHandle) -> LabStatus:
    state = lab.state
    places: list[tuple[str, int, str, str | None]] = [
        ("zookeeper", node.id, state.address_of(node), node.zone) for node in state.zookeepers
    ]
    places += [("broker", each.id, state.address_of(each), each.rack) for each in state.brokers if not each.retired]
    places += [("workload", each.id, "", None) for each in state.processes if each.role == "workload"]
    return LabStatus(
        name=state.name,
        kafka=state.spec.kafka,
        bootstrap_servers=lab.bootstrap_servers,
        sasl_bootstrap_servers=lab.sasl_bootstrap_servers,
        zookeeper_connect=lab.zookeeper_connect,
        folder=str(lab.store.dir),
        processes=tuple(_process(lab, state, *place) for place in places),
        incident=state.incident,
        network=sentences(state.network),
    )


def _process(lab: LabHandle, state: LabState, role: str, number: int, address: str, rack: str | None) -> ProcessStatus:
    record = state.record(role, number)
    condition = lab.nodes.condition(state, role, number)
    note = summary(lab, number) if role == "workload" else ""
    return ProcessStatus(role, number, record.pid if record else None, condition, address, rack, note)
