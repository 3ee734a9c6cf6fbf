"""How each line of Kafka is run: one table by version and mode. A mode names what keeps the cluster's metadata."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kfix.core.errors import UsageError

ZK, KRAFT = "zk", "kraft"
#: What keeps the metadata, as sentences name it, and how a cluster runs on it.
KEEPER = {ZK: "ZooKeeper", KRAFT: "KRaft"}
ON = {ZK: "with ZooKeeper", KRAFT: "on KRaft"}

_FAST_SMALL_JVM = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:CICompilerCount=1",
    "-Xshare:auto",
    "-XX:-UsePerfData",
    "-Xms64m",
)
_BROKER = "kafka.Kafka"
_ZOOKEEPER_MODE = {"broker": _BROKER, "zookeeper": "org.apache.zookeeper.server.quorum.QuorumPeerMain"}
_KRAFT_MODE = {"broker": _BROKER, "controller": _BROKER, "format": "kafka.tools.StorageTool"}
#: A migration to KRaft starts a controller beside the ZooKeeper servers.
_BOTH_MODES = _ZOOKEEPER_MODE | _KRAFT_MODE
_NEW_GROUPS = {
    # Members that need no heartbeat for half an hour, as the classic protocol permits by default.
    "group.consumer.max.session.timeout.ms": "1800000",
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


@dataclass(frozen=True)
class Recipe:
    """`mains` is {role of a process: its main class}; `jars` the number that Maven resolves; `elr` is whether brokers
    keep eligible leader replicas (KIP-966); `segment_key` is the setting of topics for segments of less than a
    megabyte; `loads_again` is whether coordinators load an offsets topic that was deleted and created again;
    `validates_tokens` is whether brokers check the signature of a token (KIP-768).
    """

    kafka: str
    mode: str
    pom: str
    jars: int
    mains: Mapping[str, str]
    log4j: str = "log4j.properties"
    log4j_flag: str = "-Dlog4j.configuration=file:"
    settings: Mapping[str, str] = field(default_factory=dict)
    elr: bool = False
    segment_key: str = "segment.bytes"
    loads_again: bool = True
    validates_tokens: bool = True
    jvm_flags: tuple[str, ...] = _FAST_SMALL_JVM

    def __str__(self) -> str:
        return f"{self.kafka} {self.mode}"


_KRAFT_4 = Recipe(
    "4.3.1",
    KRAFT,
    "kafka-log4j2.pom.xml",
    45,
    _KRAFT_MODE,
    log4j="log4j2.properties",
    log4j_flag="-Dlog4j2.configurationFile=",
    settings=_NEW_GROUPS,
    elr=True,
    segment_key="internal.segment.bytes",
)
_TABLE = (
    Recipe("2.7.1", ZK, "kafka-reload4j.pom.xml", 35, _ZOOKEEPER_MODE, validates_tokens=False),
    Recipe("3.9.2", ZK, "kafka-reload4j.pom.xml", 56, _BOTH_MODES, loads_again=False),
    Recipe("3.9.2", KRAFT, "kafka-reload4j.pom.xml", 56, _KRAFT_MODE, loads_again=False),
    _KRAFT_4,
    replace(_KRAFT_4, kafka="4.4.0", jars=44),
)
#: {(version, mode): recipe}; of a version with two modes the first one is the default.
RECIPES: dict[tuple[str, str], Recipe] = {(each.kafka, each.mode): each for each in _TABLE}


def recipe_of(kafka: str, mode: str | None = None) -> Recipe:
    """Returns the recipe of a version, in its default mode where none is given. Raises UsageError."""
    modes = [each.mode for each in RECIPES.values() if each.kafka == kafka]
    if not modes:
        raise UsageError(f"the lab cannot run Kafka {kafka}", hint=f"it runs: {', '.join(versions())}")
    chosen = mode or modes[0]
    if chosen not in KEEPER:
        raise UsageError(f"--mode {chosen}: no such mode", hint=" or ".join(KEEPER))
    if chosen not in modes:
        raise UsageError(
            f"the lab runs Kafka {kafka} {' or '.join(ON[each] for each in modes)} only",
            hint=f"omit --mode, or choose for {KEEPER[chosen]}: --kafka {' or '.join(versions(chosen))}",
        )
    return RECIPES[kafka, chosen]


def versions(mode: str | None = None) -> list[str]:
    return list(dict.fromkeys(each.kafka for each in RECIPES.values() if mode in {None, each.mode}))
