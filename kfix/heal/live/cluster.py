"""A live cluster behind the ports: fresh reads over read-only connections, changes over separate ones.

The connections of the reader refuse changing requests; the changer opens its own connections, each of which allows
exactly one API, and closes them after the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from kfix.core.endpoint import parse_endpoint
from kfix.core.ports import ClusterLock
from kfix.core.snapshot.snapshot import ClusterIdentity, Endpoint, Snapshot
from kfix.core.target import Target
from kfix.core.zookeeper.connect import Connect
from kfix.core.zookeeper.lock import ZooKeeperLock
from kfix.heal.live.authority import ZooKeeperAuthority
from kfix.heal.live.changer import LiveChanger
from kfix.heal.live.host_scope import NoClusterLock
from kfix.heal.live.kraft_authority import KraftAuthority
from kfix.heal.live.reader import LiveReader


class LiveCluster:
    """The reader, changer and lock of one cluster during a run."""

    def __init__(self, reader: LiveReader, changer: LiveChanger, lock: ClusterLock) -> None:
        self.reader = reader
        self.changer = changer
        self.lock = lock

    @classmethod
    def on_zookeeper(
        cls, target: Target, connect: Connect, identity: ClusterIdentity, addresses: Mapping[int, Endpoint]
    ) -> Self:
        reader = LiveReader(target, ZooKeeperAuthority(target, connect), identity, addresses)
        lock = ZooKeeperLock(connect, identity.name, timeout=target.timeout)
        return cls(reader, LiveChanger(target, connect, reader), lock)

    @classmethod
    def on_kraft(cls, target: Target, known: Snapshot) -> Self:
        """`known` names the brokers, and the controllers from their settings and from the quorum's answer."""
        named = [] if known.quorum is None else [*known.quorum.configured.values()]
        named += [] if known.quorum is None else [each.address for each in known.quorum.controllers]
        found = [endpoint for text in named if (endpoint := parse_endpoint(text)) is not None]
        authority = KraftAuthority(target, known.cluster.id, known.addresses, [*target.controllers, *found])
        reader = LiveReader(target, authority, known.cluster, known.addresses)
        return cls(reader, LiveChanger(target, None, reader), NoClusterLock())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.lock.release()
        self.reader.close()
