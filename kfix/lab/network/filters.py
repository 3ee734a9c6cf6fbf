"""The packet filters of the zones, written in full from the cuts in `lab.json`.

A zone drops incoming packets of another zone and never its outgoing ones, so that one direction can be cut alone.
Connections stay open and silent, as with an unplugged cable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.errors import LabError
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.definition.state import KINDS
from kfix.lab.network.commands import inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kfix.lab.definition.state import LabState, Network, Slow, Zone

Ports = dict[str, set[int]]
_BURST_BYTES = 16_384
#: Matches a segment that begins with a request of Kafka whose API key is 63, BrokerHeartbeat: behind the headers of IP
#: and TCP, the key follows the length of the request. Brokers send heartbeats over a connection of their own.
_HEARTBEAT = "0>>22&0x3C@12>>26&0x3C@4>>16=0x3F"


def apply(state: LabState) -> None:
    """Sets the filters and queues of all zones from `state.network`; returns when the kernel shows them."""
    network = state.network
    assert network is not None
    ports = ports_by_kind(state)
    for zone in network.zones:
        table = rules(network, zone, ports)
        inside(zone.namespace, ["iptables-restore"], table)
        _require_in_place(zone, table.count("-j DROP"))
        _queue(network, zone, next((each for each in network.slow if each.zone == zone.name), None))


def _require_in_place(zone: Zone, wanted: int) -> None:
    """Raises LabError unless the kernel shows as many packet filters in the zone as were written."""
    found = inside(zone.namespace, ["iptables-save"]).count("-j DROP")
    if found != wanted:
        raise LabError(
            f"{zone.name} has {found} packet filters, not {wanted}", hint="kfix lab mend --network, then try again"
        )


def ports_by_kind(state: LabState) -> Ports:
    """Returns {kind: ports}. The lab uses no port twice, so a port identifies the kind of a packet."""
    mode = state.spec.recipe.mode
    kinds: Ports = {kind: set() for kind in KINDS[mode]}
    for broker in state.brokers:
        kinds["kafka"] |= {port for port in (broker.port, broker.sasl_port) if port is not None}
        if broker.control_port is not None:
            kinds["controller"].add(broker.control_port)
    kinds["controller"] |= {each.port for each in state.controllers}
    if mode == KRAFT:
        kinds["brokers"] |= kinds["kafka"]
        kinds["heartbeats"] |= kinds["controller"]
        kinds["kafka"] |= kinds["controller"]
        return kinds
    for node in state.zookeepers:
        kinds["zookeeper"].add(node.port)
        kinds["quorum"] |= {node.peer_port, node.election_port}
    # The controller's listener is Kafka's too: a cut of Kafka between two zones includes it.
    kinds["kafka"] |= kinds["controller"]
    kinds["zookeeper"] |= kinds["quorum"]
    return kinds


def rules(network: Network, zone: Zone, ports: Mapping[str, set[int]]) -> str:
    """Returns the input of `iptables-restore`: the full table `filter` of one zone."""
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
    if only == "heartbeats":
        for port in sorted(ports[only]):
            yield f'-A INPUT -s {sender.address} -p tcp --dport {port} -m u32 --u32 "{_HEARTBEAT}" -j DROP'
        return
    for port in sorted(ports[only]):
        # Requests come to the port, responses from it.
        yield f"-A INPUT -s {sender.address} -p tcp --dport {port} -j DROP"
        yield f"-A INPUT -s {sender.address} -p tcp --sport {port} -j DROP"


def dropped(network: Network, target: str) -> int:
    """Returns the number of packets that the filter of this zone has dropped so far."""
    zone = network.zone(target)
    assert zone is not None
    lines = inside(zone.namespace, ["iptables-save", "-c"]).splitlines()
    return sum(int(line.partition(":")[0].strip("[")) for line in lines if line.startswith("[") and "-j DROP" in line)


def _queue(network: Network, zone: Zone, slow: Slow | None) -> None:
    """Sets the queues at both ends of the zone's link: what the zone sends, and what the bridge sends to it."""
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
