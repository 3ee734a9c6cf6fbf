"""Chooses between clusters, where the bootstrap servers that were given are of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kfix.core.snapshot.snapshot import Endpoint


def meant(servers: Mapping[str, Sequence[Endpoint]], read: str, expected: str = "") -> str:
    """Returns the id of the cluster that is meant by bootstrap servers of these clusters.

    It is `expected`, which an inventory names, or that of most servers; `read`, the cluster of the first one to answer,
    where another one has no more of them.
    """
    if expected in servers:
        return expected
    largest = max(servers, key=lambda cluster: len(servers[cluster]), default=read)
    return largest if len(servers.get(largest, ())) > len(servers.get(read, ())) else read
