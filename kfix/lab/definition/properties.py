"""The configuration files of brokers, controllers and ZooKeeper servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.definition.protocols import SASL_PROTOCOL, SCRAM
from kfix.lab.definition.recipes import KRAFT, ZK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kfix.lab.definition.spec import LabSpec
    from kfix.lab.definition.state import BrokerDef, ControllerDef, ZooKeeperDef

CONTROL, CONTROLLER = "CONTROL", "CONTROLLER"
_PROTOCOLS = {"PLAINTEXT": "PLAINTEXT", SASL_PROTOCOL: SASL_PROTOCOL}
_SHARE_REPLICAS = "share.coordinator.state.topic.replication.factor"

# Small and quick, and no setting that would heal an incident by itself.
DEFAULTS: dict[str, str] = {
    "num.io.threads": "2",
    "num.network.threads": "1",
    "num.replica.fetchers": "1",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.enable": "false",
    "log.index.size.max.bytes": "1048576",
    "replica.lag.time.max.ms": "4000",
    "auto.leader.rebalance.enable": "false",
    "unclean.leader.election.enable": "false",
    "auto.create.topics.enable": "false",
    "min.insync.replicas": "1",
    "offsets.topic.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.min.isr": "1",
}
#: What a mode adds.
MODE_DEFAULTS: dict[str, dict[str, str]] = {
    ZK: {
        "zookeeper.session.timeout.ms": "4000",
        "zookeeper.connection.timeout.ms": "20000",
        # Ids above 1000 are refused while ids are also generated.
        "broker.id.generation.enable": "false",
        "reserved.broker.max.id": "1000000000",
    },
    KRAFT: {
        "broker.heartbeat.interval.ms": "500",
        "broker.session.timeout.ms": "3000",
        "controller.quorum.election.timeout.ms": "1000",
        "controller.quorum.fetch.timeout.ms": "2000",
        "controller.quorum.request.timeout.ms": "1000",
        "controller.quorum.election.backoff.max.ms": "500",
    },
}


def broker_settings(spec: LabSpec, broker: BrokerDef, connect: str, address: str, log_dir: Path) -> dict[str, str]:
    """Returns the settings of a broker with ZooKeeper; `connect` is ZooKeeper's address."""
    settings = _defaults(spec)
    if spec.zones:
        # A broker connected to the ZooKeeper server of an isolated zone needs the time to find another server.
        settings["zookeeper.session.timeout.ms"] = "6000"
    settings |= spec.settings
    settings["broker.id"] = str(broker.id)
    settings |= _own(spec, broker, address, log_dir)
    if broker.control_port is not None:
        # The controller's connections to a broker use their own port, so that they can be cut alone (KIP-291).
        settings["listeners"] += f",{CONTROL}://{address}:{broker.control_port}"
        settings["listener.security.protocol.map"] = _protocol_map(spec, CONTROL)
        settings["control.plane.listener.name"] = CONTROL
        settings["inter.broker.listener.name"] = "PLAINTEXT"
    settings["zookeeper.connect"] = connect
    return settings


def kraft_broker_settings(
    spec: LabSpec, broker: BrokerDef, quorum: Mapping[ControllerDef, str], address: str, log_dir: Path
) -> dict[str, str]:
    """Returns the settings of a broker, combined with a controller if one has its id. `quorum` is {voter: address}."""
    settings = _defaults(spec) | dict(spec.settings) | _own(spec, broker, address, log_dir)
    settings["node.id"] = str(broker.id)
    settings["process.roles"] = "broker"
    if own := next((voter for voter in quorum if voter.id == broker.id), None):
        settings["process.roles"] = "broker,controller"
        settings["advertised.listeners"] = settings["listeners"]
        settings["listeners"] += f",{CONTROLLER}://{address}:{own.port}"
    return settings | _of_quorum(spec, quorum)


def controller_settings(
    spec: LabSpec, node: ControllerDef, quorum: Mapping[ControllerDef, str], log_dir: Path
) -> dict[str, str]:
    """Returns the settings of a controller with a process of its own, which also decides the defaults of new topics."""
    settings = _defaults(spec) | dict(spec.settings)
    settings |= {
        "node.id": str(node.id),
        "process.roles": "controller",
        "listeners": f"{CONTROLLER}://{quorum[node]}:{node.port}",
        "log.dirs": str(log_dir),
    }
    return settings | _of_quorum(spec, quorum)


def migrating_settings(
    spec: LabSpec, quorum: Mapping[ControllerDef, str], connect: str = "", *, listener: bool = True
) -> dict[str, str]:
    """Returns what a node of a migration from ZooKeeper to KRaft has besides its other settings.

    `connect` is ZooKeeper's address for a node that still uses it: a controller, or a broker that has not moved to
    KRaft. Without `listener` the node is a controller, whose settings have the quorum already.
    """
    settings = dict(MODE_DEFAULTS[KRAFT])
    if listener:
        settings |= _of_quorum(spec, quorum)
    return settings | ({"zookeeper.metadata.migration.enable": "true", "zookeeper.connect": connect} if connect else {})


def format_arguments(spec: LabSpec, number: int, quorum: Mapping[ControllerDef, str], cluster_id: str) -> list[str]:
    """Returns the arguments with which StorageTool formats the disk of a node, besides its configuration file."""
    arguments = ["format", "-t", cluster_id]
    if spec.dynamic_quorum and number in {voter.id for voter in quorum}:
        voters = (f"{each.id}@{address}:{each.port}:{each.directory}" for each, address in quorum.items())
        arguments += ["--initial-controllers", ",".join(voters)]
    elif spec.dynamic_quorum:
        arguments += ["--no-initial-controllers"]
    if spec.recipe.elr and not spec.elr:
        arguments += ["--feature", "eligible.leader.replicas.version=0"]
    return arguments


def _defaults(spec: LabSpec) -> dict[str, str]:
    settings = DEFAULTS | MODE_DEFAULTS[spec.recipe.mode] | dict(spec.recipe.settings)
    replicas = str(min(3, len(spec.ids)))
    settings["transaction.state.log.replication.factor"] = replicas
    if _SHARE_REPLICAS in settings:
        settings[_SHARE_REPLICAS] = replicas
    return settings


def _own(spec: LabSpec, broker: BrokerDef, address: str, log_dir: Path) -> dict[str, str]:
    """Returns what the lab itself decides about a broker in every mode."""
    settings = {
        "offsets.topic.replication.factor": str(spec.offsets_replication),
        "listeners": f"PLAINTEXT://{address}:{broker.port}",
        "log.dirs": str(log_dir),
    }
    if spec.listener:
        settings["listeners"] += f",{spec.listener}://{address}:{broker.sasl_port}"
    if spec.sasl is not None and not spec.is_secured:
        settings |= _sasl_settings(*spec.sasl)
    if broker.rack is not None:
        settings["broker.rack"] = broker.rack
    return settings


def _of_quorum(spec: LabSpec, quorum: Mapping[ControllerDef, str]) -> dict[str, str]:
    """Returns how a node finds the controllers."""
    settings = {
        "controller.listener.names": CONTROLLER,
        "listener.security.protocol.map": _protocol_map(spec, CONTROLLER),
    }
    if spec.dynamic_quorum:
        servers = ",".join(f"{address}:{each.port}" for each, address in quorum.items())
        return settings | {"controller.quorum.bootstrap.servers": servers}
    voters = ",".join(f"{each.id}@{address}:{each.port}" for each, address in quorum.items())
    return settings | {"controller.quorum.voters": voters}


def _protocol_map(spec: LabSpec, listener: str) -> str:
    protocols = dict(_PROTOCOLS)
    if spec.is_secured:
        protocols[spec.listener] = spec.listener
    protocols[listener] = spec.listener if listener == CONTROLLER and spec.is_secured else "PLAINTEXT"
    return ",".join(f"{name}:{each}" for name, each in protocols.items())


def _sasl_settings(user: str, password: str) -> dict[str, str]:
    """PLAIN takes the user from these settings, SCRAM from ZooKeeper. Brokers use neither between each other."""
    listener = f"listener.name.{SASL_PROTOCOL.lower()}"
    security = "org.apache.kafka.common.security"
    plain = {
        "sasl.enabled.mechanisms": ",".join(("PLAIN", *SCRAM)),
        f"{listener}.plain.sasl.jaas.config": f'{security}.plain.PlainLoginModule required user_{user}="{password}";',
    }
    scram = f"{security}.scram.ScramLoginModule required;"
    return plain | {f"{listener}.{mechanism.lower()}.sasl.jaas.config": scram for mechanism in SCRAM}


def zookeeper_settings(node: ZooKeeperDef, ensemble: Mapping[ZooKeeperDef, str], data: Path) -> dict[str, str]:
    """`ensemble` is {member: its address}."""
    settings = {
        "tickTime": "1000",
        "initLimit": "10",
        "syncLimit": "5",
        "dataDir": str(data),
        "clientPort": str(node.port),
        "clientPortAddress": ensemble[node],
        "4lw.commands.whitelist": "*",
        "admin.enableServer": "false",
        "maxClientCnxns": "0",
        # A lab need not survive a power failure, so it does not wait for a disk.
        "forceSync": "no",
    }
    if len(ensemble) > 1:
        settings |= {
            f"server.{each.id}": f"{address}:{each.peer_port}:{each.election_port}"
            for each, address in ensemble.items()
        }
    return settings


def render(settings: Mapping[str, str]) -> str:
    return "".join(f"{key}={_escape(value)}\n" for key, value in settings.items())


def _escape(value: str) -> str:
    """Escapes a value of a Java properties file: backslashes, line ends and leading blanks."""
    text = value.replace("\\", "\\\\").replace("\n", "\\n")
    return f"\\{text}" if text.startswith(" ") else text
