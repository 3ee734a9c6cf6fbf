"""How each Kafka version is run: one table. `authority` is what keeps the metadata: ZooKeeper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kfix.errors import UsageError

_FAST_SMALL_JVM = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:CICompilerCount=1",
    "-Xshare:auto",
    "-XX:-UsePerfData",
    "-Xms64m",
)


@dataclass(frozen=True)
class Recipe:
    kafka: str
    authority: Literal["zookeeper"]
    pom: str
    jars: int
    broker_class: str = "kafka.Kafka"
    authority_class: str = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    jvm_flags: tuple[str, ...] = _FAST_SMALL_JVM


RECIPES: dict[str, Recipe] = {
    "2.7.1": Recipe(kafka="2.7.1", authority="zookeeper", pom="kafka-zookeeper.pom.xml", jars=35),
}


def recipe_of(kafka: str) -> Recipe:
    if kafka not in RECIPES:
        raise UsageError(f"the lab cannot run Kafka {kafka}", hint=f"it runs: {', '.join(RECIPES)}")
    return RECIPES[kafka]
