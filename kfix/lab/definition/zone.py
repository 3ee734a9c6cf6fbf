"""What a lab remembers of its network: enough to take it down, to cut it and to heal it."""

from __future__ import annotations

from dataclasses import dataclass

from kfix.lab.process.host import Host

#: What a cut may be narrowed to: `controller` is what the controller says to brokers and they to it, `quorum` what the
#: ZooKeeper servers say to each other, `zookeeper` that and its clients.
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
    """A zone's own link, both ways: kilobits a second, and a delay in milliseconds where the kernel can."""

    zone: str
    kbit: int
    delay_ms: int = 0


@dataclass(frozen=True)
class Network:
    """`switch` is the namespace of the bridge; `interface` the observer's end, the one thing outside of them."""

    switch: str
    interface: str
    observer: str
    zones: tuple[Zone, ...]
    cuts: tuple[LinkCut, ...] = ()
    slow: tuple[Slow, ...] = ()

    def zone(self, name: str) -> Zone | None:
        return next((each for each in self.zones if each.name == name), None)
