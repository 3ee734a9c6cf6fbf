"""Creating and removing the network of a lab.

Each zone has a namespace, and the bridge between them has one. The observer, which is this machine, gets one interface
on the bridge and so reaches every zone whatever is cut between them. Addresses are from 198.18.0.0/15, which no real
network routes (RFC 2544). Filters and queues are set inside the lab's namespaces only.
"""

import contextlib
import ipaddress
import json
from collections.abc import Collection, Iterable

from kfix.core.errors import LabError
from kfix.lab.definition.state import Network, Zone
from kfix.lab.network.commands import inside, run

_POOL = ipaddress.IPv4Network("198.18.0.0/15")
_PREFIX = 24
_FIRST_ZONE = 11
_TAG = 8  # an interface's name has 15 characters at most
_BRIDGE = "bridge"


def plan_network(lab_id: str, zones: Iterable[str]) -> Network:
    """Chooses names and a subnet. Nothing is created yet, so that lab.json can name it first."""
    tag = lab_id[:_TAG]
    subnet = free_subnet(_addresses_here(), lab_id)
    return Network(
        switch=f"kfix-{tag}-switch",
        interface=f"kfix{tag}",
        observer=str(subnet[1]),
        zones=tuple(
            Zone(name, f"kfix-{tag}-{name}", str(subnet[_FIRST_ZONE + number])) for number, name in enumerate(zones)
        ),
    )


def lay(network: Network) -> None:
    run(["ip", "netns", "add", network.switch])
    inside(network.switch, ["ip", "link", "add", _BRIDGE, "type", "bridge"])
    inside(network.switch, ["ip", "link", "set", _BRIDGE, "up"])
    for zone in network.zones:
        run(["ip", "netns", "add", zone.namespace])
        run(["ip", "-n", zone.namespace, "link", "set", "lo", "up"])
        run(["ip", "-n", network.switch, "link", "add", zone.name, "type", "veth", "peer", "name", "zone0",
             "netns", zone.namespace])  # fmt: skip
        _plug(network, zone.name)
        run(["ip", "-n", zone.namespace, "address", "add", f"{zone.address}/{_PREFIX}", "dev", "zone0"])
        run(["ip", "-n", zone.namespace, "link", "set", "zone0", "up"])
    run(["ip", "link", "add", network.interface, "type", "veth", "peer", "name", "observer", "netns", network.switch])
    _plug(network, "observer")
    run(["ip", "address", "add", f"{network.observer}/{_PREFIX}", "dev", network.interface])
    run(["ip", "link", "set", network.interface, "up"])


def _plug(network: Network, port: str) -> None:
    run(["ip", "-n", network.switch, "link", "set", port, "master", _BRIDGE])
    run(["ip", "-n", network.switch, "link", "set", port, "up"])


def lift(network: Network) -> None:
    """Removes what exists of the network, which may be half created. Interfaces disappear with their namespaces."""
    with contextlib.suppress(LabError):
        run(["ip", "link", "delete", network.interface])
    there = _namespaces()
    for namespace in (*(zone.namespace for zone in network.zones), network.switch):
        if namespace in there:
            run(["ip", "netns", "delete", namespace])


def _namespaces() -> set[str]:
    return {line.split()[0] for line in run(["ip", "netns", "list"]).splitlines() if line.strip()}


def _addresses_here() -> set[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    links = json.loads(run(["ip", "-json", "-4", "address", "show"]))
    return {ipaddress.ip_address(each["local"]) for link in links for each in link.get("addr_info", ())}


def free_subnet(taken: Collection[ipaddress.IPv4Address | ipaddress.IPv6Address], lab_id: str) -> ipaddress.IPv4Network:
    """Returns a subnet without an address of this machine.

    `lab_id`, in hexadecimal digits, decides which is tried first: labs that start at the same moment do not see each
    other's addresses yet.
    """
    subnets = list(_POOL.subnets(new_prefix=_PREFIX))
    first = int(lab_id, 16) % len(subnets)
    for subnet in (*subnets[first:], *subnets[:first]):
        if not any(each in subnet for each in taken):
            return subnet
    raise LabError(f"no free /{_PREFIX} subnet is left in {_POOL}", hint="kfix lab down --all frees those of old labs")
