"""The requests to a server for a snapshot: its cost for a cluster that is already in trouble."""

from collections.abc import Mapping
from typing import NamedTuple


class Traffic(NamedTuple):
    """`sent` and `received` are in bytes, without TLS and TCP."""

    connections: int
    requests: int
    sent: int
    received: int


def in_all(*snapshots: Mapping[str, Traffic]) -> dict[str, Traffic]:
    """Returns {address: the total traffic of all of these with that server}, sorted by address."""
    found: dict[str, Traffic] = {}
    for address, each in sorted(item for traffic in snapshots for item in traffic.items()):
        found[address] = Traffic(*map(sum, zip(found[address], each, strict=True))) if address in found else each
    return found
