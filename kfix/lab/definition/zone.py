"""The network of a lab as `lab.json` keeps it: its zones, what is cut and what is slow."""

from __future__ import annotations

from dataclasses import dataclass

from kfix.lab.process.host import Host

#: What a cut may be narrowed to: `controller` is the traffic between controller and brokers, `quorum` the traffic
#: between ZooKeeper servers, `zookeeper` that and the traffic of their clients.
KINDS = ("kafka", "zookeeper", "controller", "quorum")


@dataclass(frozen=True)
class Zone:
    name: str
    namespace: str
    address: str

    def host(self) -> Host:
        return Host(self.address, ("ip", "netns", "exec", self.namespace))


@dataclass(frozen=True)
class LinkCut:
    """Nothing that `source` sends arrives at `target`. `only` is one of `KINDS`, or empty for all of it."""

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
