"""Dynamic configuration of the in-memory cluster: defaults, precedence and refusals as on 2.7.1 (tried there).

Precedence (docs/facts/defaults.md): topic, then the broker's own value, then server.properties, then the default.
"""

import re
from collections.abc import Callable, Mapping

from kfix.core.errors import UnreachableError
from kfix.core.snapshot.reading import ChangeResult, ConfigValue, ResourceKind
from kfix.heal.memory.state import MemoryBroker, Records

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
FOLLOWER_RATE, LEADER_RATE = "follower.replication.throttled.rate", "leader.replication.throttled.rate"
FOLLOWER_REPLICAS, LEADER_REPLICAS = "follower.replication.throttled.replicas", "leader.replication.throttled.replicas"

#: Kafka's defaults. The throttle's rates are absent if they are not set: brokers do not report them.
BROKER_DEFAULTS = {
    "auto.leader.rebalance.enable": "true",
    "default.replication.factor": "1",
    "inter.broker.protocol.version": "2.7-IV2",
    "log.cleaner.enable": "true",
    MIN_ISR: "1",
    "offsets.topic.replication.factor": "3",
    "replica.lag.time.max.ms": "30000",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.replication.factor": "3",
    UNCLEAN: "false",
    "zookeeper.session.timeout.ms": "18000",
}
TOPIC_DEFAULTS = {
    FOLLOWER_REPLICAS: "",
    LEADER_REPLICAS: "",
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "max.compaction.lag.ms": "9223372036854775807",
    "max.message.bytes": "1048588",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.ms": "604800000",
}
_INHERITED = (MIN_ISR, UNCLEAN)

_REPLICAS = re.compile(r"\*?|\d+:\d+(,\d+:\d+)*")


def _whole(value: str, least: int) -> bool:
    return re.fullmatch(r"-?\d+", value) is not None and int(value) >= least


_VALID: Mapping[str, Callable[[str], bool]] = {
    MIN_ISR: lambda v: _whole(v, 1),
    UNCLEAN: lambda v: v in ("true", "false"),
    FOLLOWER_RATE: lambda v: _whole(v, 0),
    LEADER_RATE: lambda v: _whole(v, 0),
    FOLLOWER_REPLICAS: lambda v: _REPLICAS.fullmatch(v) is not None,
    LEADER_REPLICAS: lambda v: _REPLICAS.fullmatch(v) is not None,
    "retention.ms": lambda v: _whole(v, -1),
}


class Settings:
    """`properties` is the server.properties of all brokers, `controllers` the further settings of KRaft controllers.

    None there is a setting that they do not report.
    """

    def __init__(self, records: Records, brokers: dict[int, MemoryBroker]) -> None:
        self._records = records
        self._brokers = brokers
        self.properties: dict[str, str] = {}
        self.controllers: dict[str, str | None] | None = None

    def of_broker(self, broker: MemoryBroker) -> dict[str, str]:
        rack = {} if broker.rack is None else {"broker.rack": broker.rack}
        return BROKER_DEFAULTS | rack | self.properties | broker.configs

    def of_controllers(self) -> dict[str, str | None]:
        return {**BROKER_DEFAULTS, **self.properties, **(self.controllers or {})}

    def of_topic(self, topic: str, asked: MemoryBroker) -> dict[str, str]:
        inherited = self.of_broker(asked)
        defaults = TOPIC_DEFAULTS | {key: inherited[key] for key in _INHERITED}
        return defaults | self._records.topic_configs.get(topic, {})

    def read(self, kind: ResourceKind, name: str) -> dict[str, ConfigValue]:
        if kind is ResourceKind.BROKER:
            broker = self._answering(name)
            found, own = self.of_broker(broker), broker.configs.keys()
        else:
            asked = next((b for b in self._brokers.values() if b.answers), None)
            if asked is None:
                raise UnreachableError("no broker is registered that could be asked")
            if not self.exists(name):
                raise UnreachableError(f"configs of topic {name}: UNKNOWN_TOPIC_OR_PARTITION")
            found, own = self.of_topic(name, asked), self._records.topic_configs.get(name, {}).keys()
        values = {key: ConfigValue(value, own=key in own) for key, value in found.items()}
        if kind is ResourceKind.TOPIC and self.controllers is not None and UNCLEAN not in own:
            values[UNCLEAN] = ConfigValue(self.of_controllers()[UNCLEAN], own=False)
        return values

    def exists(self, topic: str) -> bool:
        return any(tp.topic == topic for tp in self._records.assignments)

    def alter(self, kind: ResourceKind, name: str, changes: Mapping[str, str | None]) -> ChangeResult:
        """Applies all changes or none, as Kafka does: after one invalid value, none is set."""
        if kind is ResourceKind.BROKER:
            try:
                into = self._answering(name).configs
            except UnreachableError as error:
                return ChangeResult(41, "NOT_SENT", str(error))
        elif not self.exists(name):
            return ChangeResult(3, "UNKNOWN_TOPIC_OR_PARTITION", f"The topic '{name}' does not exist.")
        else:
            into = self._records.topic_configs.setdefault(name, {})
        for key, value in changes.items():
            if value is None:
                continue  # A setting that was never set, or does not exist, may be removed.
            # A broker accepts keys that it does not know.
            if kind is ResourceKind.TOPIC and key not in TOPIC_DEFAULTS and key not in _INHERITED:
                return ChangeResult(40, "INVALID_CONFIG", f"Unknown topic config name: {key}")
            valid = _VALID.get(key)
            if valid is not None and not valid(value):
                return ChangeResult(42, "INVALID_REQUEST", f"Invalid value {value} for configuration {key}")
        for key, value in changes.items():
            if value is None:
                into.pop(key, None)
            else:
                into[key] = value
        return ChangeResult(0, "NONE")

    def _answering(self, name: str) -> MemoryBroker:
        broker = self._brokers.get(int(name)) if name.isdigit() else None
        if broker is None or not broker.alive:
            raise UnreachableError(f"broker {name}: is not registered, or its address is unknown")
        if broker.silent:
            raise UnreachableError(f"broker {name}: {broker.silent}")
        return broker
