"""The network of a lab as `lab.json` keeps it: its zones, what is cut and what is slow."""

from __future__ import annotations

from dataclasses import dataclass

from kfix.lab.definition.recipes import KRAFT, ZK
from kfix.lab.process.host import Host

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
