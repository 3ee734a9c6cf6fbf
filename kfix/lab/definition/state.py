"""The state of a lab in its `lab.json`: enough to end it, to start a broker again and to undo an incident."""

from __future__ import annotations

import base64
import secrets
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kfix.core.errors import LabError, UsageError
from kfix.lab.definition.recipes import KRAFT, ZK, Recipe, recipe_of
from kfix.lab.definition.spec import LabSpec
from kfix.lab.process.host import LOOPBACK, Host
from kfix.lab.process.processes import ProcessRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# New ids in Kafka's own form, of clusters and of directories.


def new_uuid() -> str:
    """Returns an id as Kafka writes it. StorageTool would take one that begins with a dash for an option."""
    while (found := base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")).startswith("-"):
        pass
    return found


# Replica placement: round robin over the brokers, neighbours in different racks if the racks allow it.


def ids_by_rack(brokers: Iterable[BrokerDef]) -> tuple[int, ...]:
    racks: dict[str | None, list[int]] = {}
    for broker in brokers:
        if not broker.retired:
            racks.setdefault(broker.rack, []).append(broker.id)
    return tuple(each for each in chain.from_iterable(zip_longest(*racks.values())) if each is not None)


def spread(ids: Sequence[int], partitions: int, replicas: int) -> list[list[int]]:
    return [[ids[(number + step) % len(ids)] for step in range(replicas)] for number in range(partitions)]


# The network of a lab as `lab.json` keeps it: its zones, what is cut and what is slow.

#: What a cut may be narrowed to, by what keeps the metadata. `kafka` is the traffic of brokers and controllers, and
#: `controller` the traffic between controllers and brokers. With ZooKeeper, `quorum` is the traffic between its
#: servers, `zookeeper` that and the traffic of their clients. On KRaft, `controller` is that between controllers, too,
#: `brokers` is `kafka` without it, and `heartbeats` are only those that brokers send to controllers.
KINDS = {
    ZK: ("kafka", "zookeeper", "controller", "quorum"),
    KRAFT: ("kafka", "brokers", "controller", "heartbeats"),
}


@dataclass(frozen=True)
class Zone:
    name: str
    namespace: str
    address: str

    def host(self) -> Host:
        return Host(self.address, ("ip", "netns", "exec", self.namespace))


@dataclass(frozen=True)
class LinkCut:
    """Nothing that `source` sends arrives at `target`. `only` is one kind of `KINDS`, or empty for all of it."""

    source: str
    target: str
    only: str = ""


@dataclass(frozen=True)
class Slow:
    """A slow link of a zone, in both directions: kilobits a second, and a delay in milliseconds (needs netem)."""

    zone: str
    kbit: int
    delay_ms: int = 0


@dataclass(frozen=True)
class Network:
    """`switch` is the namespace of the bridge; `interface`, the observer's end, is the only one outside namespaces."""

    switch: str
    interface: str
    observer: str
    zones: tuple[Zone, ...]
    cuts: tuple[LinkCut, ...] = ()
    slow: tuple[Slow, ...] = ()

    def zone(self, name: str) -> Zone | None:
        return next((each for each in self.zones if each.name == name), None)


VERSION = 1
#: The steps of a node in a migration to KRaft: with ZooKeeper and the settings of the migration, or on KRaft alone.
PREPARED, ON_KRAFT = "prepared", "on KRaft"

Assignment = dict[int, tuple[int, ...]]


@dataclass(frozen=True)
class BrokerDef:
    id: int
    port: int
    rack: str | None
    original: bool = True
    retired: bool = False  # a broker with another id has its port now
    sasl_port: int | None = None  # the second listener, of --sasl or --security
    zone: str | None = None
    control_port: int | None = None  # the listener of the controller, if the lab has zones
    second_disk: bool = False  # it has two log directories


@dataclass(frozen=True)
class ZooKeeperDef:
    id: int
    port: int
    peer_port: int
    election_port: int
    zone: str | None = None
    secure_port: int | None = None  # with TLS, beside the plain one of the lab itself


@dataclass(frozen=True)
class ControllerDef:
    """A voter of a KRaft quorum. Combined with a broker, it has the broker's id and runs in the broker's process."""

    id: int
    port: int
    directory: str  # the directory id, which a dynamic quorum is formatted with
    zone: str | None = None


Node = BrokerDef | ZooKeeperDef | ControllerDef


@dataclass(frozen=True)
class LabBaseline:
    """The cluster before the incident; `mend` restores it, whatever was done in between."""

    brokers: tuple[int, ...]
    topics: dict[str, Assignment]
    topic_configs: dict[str, dict[str, str]]
    broker_configs: dict[str, dict[str, str]]


@dataclass(frozen=True)
class LabState:
    name: str
    id: str
    spec: LabSpec
    data: str
    brokers: tuple[BrokerDef, ...] = ()
    zookeepers: tuple[ZooKeeperDef, ...] = ()
    processes: tuple[ProcessRecord, ...] = ()
    baseline: LabBaseline | None = None
    incident: str | None = None
    network: Network | None = None
    controllers: tuple[ControllerDef, ...] = ()
    secret: str = field(default="", repr=False)  # of a secured lab: of its key stores, and of its controllers
    oidc_port: int | None = None  # of the identity provider, with OAUTHBEARER
    kdc_port: int | None = None  # of the Kerberos server, with GSSAPI
    cluster_id: str = ""  # KRaft: what every node's disk is formatted with
    migrating: dict[str, str] = field(default_factory=dict)  # {id of a broker or controller: its step of a migration}
    upgraded: dict[str, str] = field(default_factory=dict)  # {role and id, such as `broker-1`: its version of Kafka}
    version: int = field(default=VERSION)

    def broker(self, broker_id: int) -> BrokerDef | None:
        return next((broker for broker in self.brokers if broker.id == broker_id), None)

    def record(self, role: str, number: int) -> ProcessRecord | None:
        return next((each for each in self.processes if (each.role, each.id) == (role, number)), None)

    def recipe_of(self, role: str, number: int) -> Recipe:
        """Returns how a process is run: as the lab was started, or with the version that it was upgraded to."""
        version = self.upgraded.get(f"{role}-{number}")
        return self.spec.recipe if version is None else recipe_of(version, self.spec.recipe.mode)

    def with_version(self, role: str, number: int, kafka: str) -> LabState:
        return replace(self, upgraded={**self.upgraded, f"{role}-{number}": kafka})

    def controller(self, number: int) -> ControllerDef | None:
        return next((each for each in self.controllers if each.id == number), None)

    @property
    def own_controllers(self) -> tuple[ControllerDef, ...]:
        """Returns the controllers that have processes of their own: none if they are combined with brokers."""
        return () if self.spec.combined else self.controllers

    def members(self, role: str) -> tuple[Node, ...]:
        """Returns the nodes with a process of that role, without brokers that another id has replaced."""
        if role == "zookeeper":
            return self.zookeepers
        return (
            self.own_controllers if role == "controller" else tuple(each for each in self.brokers if not each.retired)
        )

    def host_of(self, node: Node) -> Host:
        """Returns where the processes of a node run and listen."""
        zone = self.network.zone(node.zone) if self.network is not None and node.zone is not None else None
        return zone.host() if zone is not None else LOOPBACK

    def address_of(self, node: Node) -> str:
        return f"{self.host_of(node).address}:{node.port}"

    def ports(self) -> set[int]:
        used = {
            port
            for broker in self.brokers
            for port in (broker.port, broker.sasl_port, broker.control_port)
            if port is not None
        }
        for node in self.zookeepers:
            used |= {node.port, node.peer_port, node.election_port}
            used |= {node.secure_port} if node.secure_port is not None else set()
        used |= {self.oidc_port} if self.oidc_port is not None else set()
        used |= {self.kdc_port} if self.kdc_port is not None else set()
        return used | {each.port for each in self.controllers}

    def with_process(self, record: ProcessRecord) -> LabState:
        others = tuple(each for each in self.processes if (each.role, each.id) != (record.role, record.id))
        return replace(self, processes=(*others, record))

    def with_broker(self, broker: BrokerDef) -> LabState:
        others = tuple(each for each in self.brokers if each.id != broker.id)
        return replace(self, brokers=tuple(sorted((*others, broker), key=lambda each: each.id)))

    def without_broker(self, broker_id: int) -> LabState:
        return replace(
            self,
            brokers=tuple(each for each in self.brokers if each.id != broker_id),
            processes=tuple(each for each in self.processes if (each.role, each.id) != ("broker", broker_id)),
        )


def folder_of(state: LabState) -> Path:
    """Returns where the certificates, the keytabs, the stores and the client properties of a secured lab are."""
    return Path(state.data, "security")


def word_of(role: str, number: int) -> str:
    """Returns the name of a process on the command line: `zk1`, `controller 100`, or a broker's id."""
    return {"zookeeper": f"zk{number}", "controller": f"controller {number}"}.get(role, str(number))


def no_such(state: LabState, role: str, number: int) -> UsageError:
    words = ", ".join(word_of(role, each.id) for each in state.members(role))
    return UsageError(f"lab {state.name!r} has no {role} {number}", hint=f"its {role}s: {words or 'none'}")


def to_json(state: LabState) -> dict[str, Any]:
    return asdict(state)


def from_json(raw: dict[str, Any], where: str) -> LabState:
    if raw.get("version") != VERSION:
        raise LabError(
            f"{where} has version {raw.get('version')}, this kfix reads version {VERSION}",
            hint="end that lab with the kfix version that started it",
        )
    try:
        return msgspec.convert(raw, LabState, str_keys=True)
    except msgspec.ValidationError as problem:
        raise LabError(
            f"{where} is damaged: {problem}", hint="end its java processes by hand, remove the folder"
        ) from problem
