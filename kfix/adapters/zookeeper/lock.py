"""One run a cluster at a time, seen by every kfix: an ephemeral znode, which goes with its holder's session.

Only the session that made the node can keep it, so whose it is, is asked by `ephemeralOwner` and never by its data.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kfix.adapters.zookeeper.connect import Connect
from kfix.errors import HeldError, UnreachableError
from kfix.model.cluster.holder import held_error, parse_holder
from kfix.ports import ClusterLock

if TYPE_CHECKING:
    from kazoo.client import KazooClient

FOLDER, NODE = "/kfix", "/kfix/lock"
#: What is asked for; a server with a longer tick gives more (twice its tick at least).
SESSION_SECONDS = 6.0
_LOOK_EVERY = 0.05
_TRIES = 3

# Without a handler of its own, kazoo's warnings of a dropped connection would go to the operator's terminal.
_LOGGER = logging.getLogger("kfix.zookeeper.lock")
_LOGGER.addHandler(logging.NullHandler())
_LOGGER.propagate = False


class ZooKeeperLock(ClusterLock):
    """`timeout` (seconds) bounds each question to ZooKeeper."""

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
        # kazoo is a library of a hundred modules that a diagnosis never needs.
        from kazoo.client import KazooClient  # noqa: PLC0415
        from kazoo.exceptions import KazooException, NoAuthError, NoNodeError  # noqa: PLC0415
        from kazoo.handlers.threading import KazooTimeoutError  # noqa: PLC0415

        self.release()
        # Without the chroot, of which kazoo would warn on the terminal where it does not exist.
        hosts = ",".join(map(str, self._connect.servers))
        self._client = KazooClient(hosts=hosts, timeout=SESSION_SECONDS, logger=_LOGGER)
        try:
            self._client.start(timeout=self._timeout)
            self._make(self._client, json.dumps(dict(holder)).encode())
        except BaseException as error:
            self.release()
            if isinstance(error, NoAuthError):
                raise self._unreachable(f"not allowed to write {self._node}") from None
            if isinstance(error, NoNodeError):
                raise self._unreachable(f"no place for {self._node}: is the chroot right?") from None
            if isinstance(error, KazooTimeoutError | KazooException):
                raise self._unreachable(f"{type(error).__name__} {error}".strip()) from None
            raise

    def _unreachable(self, why: str) -> UnreachableError:
        return UnreachableError(f"zookeeper {self._connect}: there is no lock: {why}; nothing was changed")

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
                with contextlib.suppress(NoNodeError):  # gone since: try again
                    holder, stat = self._ask(client.get_async(self._node))
                    if stat.ephemeralOwner == self._session:
                        return
                    raise self._held(holder) from None
            else:
                return
        raise self._held(holder)

    def _held(self, data: bytes) -> HeldError:
        return held_error(
            self._cluster,
            parse_holder(data),
            where="an unknown host",
            hint=f"wait for it; the lock of a run that was killed goes by itself within {SESSION_SECONDS:.0f} seconds",
        )

    def held(self) -> bool:
        from kazoo.exceptions import KazooException  # noqa: PLC0415
        from kazoo.handlers.threading import KazooTimeoutError  # noqa: PLC0415
        from kazoo.protocol.states import KazooState  # noqa: PLC0415

        client = self._client
        if client is None:
            return False
        # A line that broke is taken up again by the same session, or the session ends: as long as it may live it is
        # waited for.
        until = self._seen + SESSION_SECONDS
        while client.state == KazooState.SUSPENDED and time.monotonic() < until:
            time.sleep(_LOOK_EVERY)
        if client.state != KazooState.CONNECTED:
            return False
        try:
            # The sync goes through the quorum's leader: a server that is cut off from it cannot vouch for the session.
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
        """Ends the session, and the node with it: nobody else's can be hit. Out of reach it goes when that expires."""
        client, self._client = self._client, None
        if client is None:
            return
        for end in (client.stop, client.close):
            with contextlib.suppress(Exception):
                end()
