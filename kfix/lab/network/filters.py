"""From the cuts that a lab remembers to the packet filters of its zones, written whole each time.

A zone drops what another sends when it comes in; what it sends itself it never touches, so that one direction can be
cut alone. Connections stay open and silent, as when a cable is out: nobody is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.errors import LabError
from kfix.lab.definition.zone import KINDS
from kfix.lab.network.commands import inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kfix.lab.definition.state import LabState
    from kfix.lab.definition.zone import Network, Slow, Zone

Ports = dict[str, set[int]]
_BURST_BYTES = 16_384


def apply(state: LabState) -> None:
    """All zones' filters and queues as `state.network` says."""
    network = state.network
    assert network is not None
    ports = ports_by_kind(state)
    for zone in network.zones:
        inside(zone.namespace, ["iptables-restore"], rules(network, zone, ports))
        _queue(network, zone, next((each for each in network.slow if each.zone == zone.name), None))


def ports_by_kind(state: LabState) -> Ports:
    """{kind: ports}; the lab gives no port twice, so a port tells what a packet is about."""
    kinds: Ports = {kind: set() for kind in KINDS}
    for broker in state.brokers:
        kinds["kafka"] |= {port for port in (broker.port, broker.sasl_port) if port is not None}
        if broker.control_port is not None:
            kinds["controller"].add(broker.control_port)
    for node in state.zookeepers:
        kinds["zookeeper"].add(node.port)
        kinds["quorum"] |= {node.peer_port, node.election_port}
    # The controller's line is Kafka's too: who cuts Kafka between two zones cuts it as well.
    kinds["kafka"] |= kinds["controller"]
    kinds["zookeeper"] |= kinds["quorum"]
    return kinds


def rules(network: Network, zone: Zone, ports: Mapping[str, set[int]]) -> str:
    """What `iptables-restore` reads: the whole table `filter` of one zone."""
    drops = [
        line for cut in network.cuts if cut.target == zone.name for line in _drops(network, cut.source, cut.only, ports)
    ]
    return "\n".join(("*filter", ":INPUT ACCEPT [0:0]", *dict.fromkeys(drops), "COMMIT", ""))


def _drops(network: Network, source: str, only: str, ports: Mapping[str, set[int]]) -> Iterator[str]:
    sender = network.zone(source)
    if sender is None:
        raise LabError(f"the lab has no zone {source}")
    if not only:
        yield f"-A INPUT -s {sender.address} -j DROP"
        return
    for port in sorted(ports[only]):
        # A question comes to the port, an answer from it.
        yield f"-A INPUT -s {sender.address} -p tcp --dport {port} -j DROP"
        yield f"-A INPUT -s {sender.address} -p tcp --sport {port} -j DROP"


def dropped(network: Network, target: str) -> int:
    """Packets that the filter of this zone has dropped so far."""
    zone = network.zone(target)
    assert zone is not None
    lines = inside(zone.namespace, ["iptables-save", "-c"]).splitlines()
    return sum(int(line.partition(":")[0].strip("[")) for line in lines if line.startswith("[") and "-j DROP" in line)


def _queue(network: Network, zone: Zone, slow: Slow | None) -> None:
    """Both ends of the zone's cable: what leaves the zone, and what the bridge sends to it."""
    for namespace, device in ((zone.namespace, "zone0"), (network.switch, zone.name)):
        if "qdisc noqueue" not in inside(namespace, ["tc", "qdisc", "show", "dev", device]):
            inside(namespace, ["tc", "qdisc", "delete", "dev", device, "root"])
        if slow is not None:
            for words in _disciplines(slow):
                inside(namespace, ["tc", "qdisc", "add", "dev", device, *words])


def _disciplines(slow: Slow) -> Iterable[list[str]]:
    rate = ["tbf", "rate", f"{slow.kbit}kbit", "burst", str(_BURST_BYTES), "latency", "2s"]
    if not slow.delay_ms:
        return [["root", *rate]]
    return [["root", "handle", "1:", "netem", "delay", f"{slow.delay_ms}ms"], ["parent", "1:", *rate]]
