"""A live cluster behind the ports: fresh reads over read-only connections, changes over separate ones.

The connections of the reader refuse changing requests; the changer opens its own connections, each of which allows
exactly one API, and closes them after the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from kfix.adapters.live.changer import LiveChanger
from kfix.adapters.live.reader import LiveReader
from kfix.adapters.target import Target
from kfix.adapters.zookeeper.connect import Connect
from kfix.adapters.zookeeper.lock import ZooKeeperLock
from kfix.model.cluster.snapshot import ClusterIdentity, Endpoint


class LiveCluster:
    """The reader, changer and lock of one cluster during a run."""

    def __init__(
        self, target: Target, connect: Connect, identity: ClusterIdentity, addresses: Mapping[int, Endpoint]
    ) -> None:
        self.reader = LiveReader(target, connect, identity, addresses)
        self.changer = LiveChanger(target, connect, self.reader)
        self.lock = ZooKeeperLock(connect, identity.name, timeout=target.timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.lock.release()
        self.reader.close()
