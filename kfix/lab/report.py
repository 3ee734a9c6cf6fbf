"""What the lab tells its callers: frozen, and the same for the terminal and for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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


@dataclass(frozen=True)
class Broken:
    """An incident that was put in and then looked at: the cluster is in the state it names."""

    incident: str
    did: tuple[str, ...]
    group: str | None
    topic: str | None
    partitions: tuple[tuple[str, int], ...]
    dead: tuple[int, ...]
    expect: tuple[str, ...]
    details: Mapping[str, int | str] = field(default_factory=dict)  # numbers that a remedy is measured by
