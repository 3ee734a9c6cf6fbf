"""Chooses between clusters if the given bootstrap servers belong to several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kfix.core.snapshot.snapshot import Endpoint


def meant(servers: Mapping[str, Sequence[Endpoint]], read: str, expected: str = "") -> str:
    """Returns the id of the intended cluster among the clusters of these bootstrap servers.

    It is `expected`, from an inventory, or the cluster of most servers. If no other cluster has more servers, it is
    `read`, the cluster of the first server that answered.
    """
    if expected in servers:
        return expected
    largest = max(servers, key=lambda cluster: len(servers[cluster]), default=read)
    return largest if len(servers.get(largest, ())) > len(servers.get(read, ())) else read
