"""The configuration files of brokers and ZooKeeper servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kfix.lab.definition.spec import LabSpec
    from kfix.lab.definition.state import BrokerDef, ZooKeeperDef

SASL_PROTOCOL = "SASL_PLAINTEXT"
CONTROL = "CONTROL"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")

# Small and quick, and no setting that would heal an incident by itself.
DEFAULTS: dict[str, str] = {
    "num.io.threads": "2",
    "num.network.threads": "1",
    "num.replica.fetchers": "1",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.enable": "false",
    "log.index.size.max.bytes": "1048576",
    "zookeeper.session.timeout.ms": "4000",
    "zookeeper.connection.timeout.ms": "20000",
    "replica.lag.time.max.ms": "4000",
    "auto.leader.rebalance.enable": "false",
    "unclean.leader.election.enable": "false",
    "auto.create.topics.enable": "false",
    "min.insync.replicas": "1",
    "offsets.topic.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.min.isr": "1",
    # Ids above 1000 are refused while ids are also generated.
    "broker.id.generation.enable": "false",
    "reserved.broker.max.id": "1000000000",
}


def broker_settings(spec: LabSpec, broker: BrokerDef, connect: str, address: str, log_dir: Path) -> dict[str, str]:
    settings = dict(DEFAULTS)
    settings["transaction.state.log.replication.factor"] = str(min(3, len(spec.ids)))
    if spec.zones:
        # A broker connected to the ZooKeeper server of an isolated zone needs the time to find another server.
        settings["zookeeper.session.timeout.ms"] = "6000"
    settings.update(spec.settings)
    settings["offsets.topic.replication.factor"] = str(spec.offsets_replication)
    settings["broker.id"] = str(broker.id)
    settings["listeners"] = f"PLAINTEXT://{address}:{broker.port}"
    if spec.sasl is not None:
        settings["listeners"] += f",{SASL_PROTOCOL}://{address}:{broker.sasl_port}"
        settings |= _sasl_settings(*spec.sasl)
    if broker.control_port is not None:
        # The controller's connections to a broker use their own port, so that they can be cut alone (KIP-291).
        settings["listeners"] += f",{CONTROL}://{address}:{broker.control_port}"
        protocols = {"PLAINTEXT": "PLAINTEXT", SASL_PROTOCOL: SASL_PROTOCOL, CONTROL: "PLAINTEXT"}
        settings["listener.security.protocol.map"] = ",".join(f"{name}:{each}" for name, each in protocols.items())
        settings["control.plane.listener.name"] = CONTROL
        settings["inter.broker.listener.name"] = "PLAINTEXT"
    settings["zookeeper.connect"] = connect
    settings["log.dirs"] = str(log_dir)
    if broker.rack is not None:
        settings["broker.rack"] = broker.rack
    return settings


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
