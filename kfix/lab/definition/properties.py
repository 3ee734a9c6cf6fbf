"""The files a broker and a ZooKeeper node are started with."""

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

# Small and quick, and nothing that would heal an incident behind the operator's back.
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
        # A broker may be connected to the ZooKeeper of a zone that is cut off: it must have the time to find another.
        settings["zookeeper.session.timeout.ms"] = "6000"
    settings.update(spec.settings)
    settings["offsets.topic.replication.factor"] = str(spec.offsets_replication)
    settings["broker.id"] = str(broker.id)
    settings["listeners"] = f"PLAINTEXT://{address}:{broker.port}"
    if spec.sasl is not None:
        settings["listeners"] += f",{SASL_PROTOCOL}://{address}:{broker.sasl_port}"
        settings |= _sasl_settings(*spec.sasl)
    if broker.control_port is not None:
        # The controller's line to a broker has a port of its own, so that it can be cut alone (KIP-291).
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
    """PLAIN knows the user from here, SCRAM from ZooKeeper. Brokers talk to each other without either."""
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
        # The lab outlives no power failure, so it need not wait for a disk.
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
    """Java properties: a backslash escapes, a line ends the value, leading blanks vanish."""
    text = value.replace("\\", "\\\\").replace("\n", "\\n")
    return f"\\{text}" if text.startswith(" ") else text
