"""The lock of a cluster for all kfix processes: an ephemeral znode, which disappears with the session of its holder.

The holder is identified by `ephemeralOwner`, never by the data of the node.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kfix.core.errors import HeldError, UnreachableError
from kfix.core.ports import ClusterLock
from kfix.core.snapshot.holder import held_error, parse_holder
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import Connect
from kfix.core.zookeeper.wire import ZooKeeperLine, exists, sync
from kfix.core.zookeeper.witnesses import ROUNDS

if TYPE_CHECKING:
    from kazoo.client import KazooClient

FOLDER, NODE = "/kfix", "/kfix/lock"
#: The requested session timeout; the server grants at least twice its tickTime.
SESSION_SECONDS = 6.0
_POLL_SECONDS = 0.05
_TRIES = 3
#: A server that hangs confirms nothing; kfix waits no longer than this for it.
_CONFIRM_SECONDS = 1.0

# Without its own handler, kazoo would print warnings of dropped connections on the terminal.
_LOGGER = logging.getLogger("kfix.zookeeper.lock")
_LOGGER.addHandler(logging.NullHandler())
_LOGGER.propagate = False


class ZooKeeperLock(ClusterLock):
    """A lock in ZooKeeper. `timeout` (seconds) limits each request."""

    def __init__(self, connect: Connect, cluster: str, *, timeout: float = 5.0) -> None:
        self._connect = connect
        self._node = connect.path(NODE)
        self._cluster = cluster
        self._timeout = timeout
        self._client: KazooClient | None = None
        self._session = 0
        self._seen = 0.0

    @property
    def scope(self) -> str:
        return "all kfix on this cluster (ZooKeeper)"

    def take(self, holder: Mapping[str, str]) -> None:
        # kazoo has about a hundred modules, and a diagnosis never needs it.
        from kazoo.exceptions import KazooException, NoAuthError, NoNodeError  # noqa: PLC0415
        from kazoo.handlers.threading import KazooTimeoutError  # noqa: PLC0415

        from kfix.core.zookeeper.kazoo_client import kazoo_client  # noqa: PLC0415

        self.release()
        # Without the chroot, since kazoo warns on the terminal if it does not exist.
        hosts = ",".join(map(str, self._connect.servers))
        self._client = kazoo_client(hosts, self._connect.access, SESSION_SECONDS, _LOGGER)
        try:
            self._client.start(timeout=self._timeout)
            self._make(self._client, json.dumps(dict(holder)).encode())
            self._confirm()
        except BaseException as error:
            self.release()
            if isinstance(error, NoAuthError):
                raise self._unreachable(self._connect.access.not_allowed("write", self._node)) from None
            if isinstance(error, NoNodeError):
                raise self._unreachable(f"the parent of {self._node} does not exist: check the chroot") from None
            if isinstance(error, KazooTimeoutError | KazooException):
                raise self._unreachable(f"{type(error).__name__} {error}".strip()) from None
            raise

    def _unreachable(self, why: str) -> UnreachableError:
        return UnreachableError(f"zookeeper {self._connect}: cannot take the lock: {why}; nothing was changed")

    def _make(self, client: KazooClient, data: bytes) -> None:
        from kazoo.exceptions import NodeExistsError, NoNodeError  # noqa: PLC0415

        folder = self._connect.path(FOLDER)
        if self._ask(client.exists_async(folder)) is None:
            with contextlib.suppress(NodeExistsError):
                self._ask(client.create_async(folder, b""))
        self._session = client.client_id[0]
        self._seen = time.monotonic()
        holder: bytes = b""
        for _ in range(_TRIES):
            try:
                self._ask(client.create_async(self._node, data, ephemeral=True))
            except NodeExistsError:
                with contextlib.suppress(NoNodeError):  # Another process deleted it: try again.
                    holder, stat = self._ask(client.get_async(self._node))
                    if stat.ephemeralOwner == self._session:
                        return
                    raise self._held(holder) from None
            else:
                return
        raise self._held(holder)

    def _confirm(self) -> None:
        """Raises UnreachableError if a server of the ensemble that has caught up does not show the lock.

        A server that was started alone, from a copy of the data, grants a lock that no other kfix ever sees.
        """
        for server in self._connect.servers:
            with contextlib.suppress(UnreachableError):
                if not self._shown_by(server):
                    break
        else:
            return
        raise self._unreachable(f"{server} does not show it, so the servers are not one ensemble: give the right ones")

    def _shown_by(self, server: Endpoint) -> bool:
        """Whether the server shows the lock, or has no quorum, so that its answer does not count."""
        limit = Deadline.after(min(_CONFIRM_SECONDS, self._timeout))
        with ZooKeeperLine(server, limit, access=self._connect.access) as line:
            for pause in ROUNDS:
                time.sleep(pause)
                _, node = line.read([sync(self._node), exists(self._node)], limit)
                if line.read_only or (node is not None and node.stat.owner == self._session):
                    return True
        return False

    def _held(self, data: bytes) -> HeldError:
        return held_error(
            self._cluster,
            parse_holder(data),
            where="an unknown host",
            hint=f"wait for it; the lock of a killed run expires within {SESSION_SECONDS:.0f} s",
        )

    def held(self) -> bool:
        from kazoo.exceptions import KazooException  # noqa: PLC0415
        from kazoo.handlers.threading import KazooTimeoutError  # noqa: PLC0415
        from kazoo.protocol.states import KazooState  # noqa: PLC0415

        client = self._client
        if client is None:
            return False
        # After a lost connection the session either reconnects or expires: wait as long as it may still be valid.
        until = self._seen + SESSION_SECONDS
        while client.state == KazooState.SUSPENDED and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
        if client.state != KazooState.CONNECTED:
            return False
        try:
            # The sync goes through the leader of the quorum: a partitioned server cannot confirm the session.
            asked = client.sync_async(self._node), client.exists_async(self._node)
            self._ask(asked[0])
            stat = self._ask(asked[1])
        except (KazooTimeoutError, KazooException):
            return False
        ours: bool = stat is not None and stat.ephemeralOwner == self._session
        if ours:
            self._seen = time.monotonic()
        return ours

    def _ask(self, answer: Any) -> Any:
        return answer.get(timeout=self._timeout)

    def release(self) -> None:
        """Ends the session, which deletes its own node only; if unreachable, the node goes when the session expires."""
        client, self._client = self._client, None
        if client is None:
            return
        for end in (client.stop, client.close):
            with contextlib.suppress(Exception):
                end()
