"""A kazoo client with the reader's own security: the same OpenSSL context, and no key in any file."""

import logging
import socket
import ssl
from typing import Any

from kazoo.client import KazooClient
from kazoo.handlers.threading import SequentialThreadingHandler

from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.zookeeper.access import MECHANISM, ZooKeeperAccess


def kazoo_client(hosts: str, access: ZooKeeperAccess, timeout: float, logger: logging.Logger) -> KazooClient:
    """Returns a client that is not started; `timeout` is the session's, in seconds."""
    settings: dict[str, Any] = {}
    if access.tls is not None:
        settings["handler"] = _TlsHandler(access)
    if access.digest:
        settings["auth_data"] = [("digest", access.digest)]
    if access.sasl is not None:
        user, password = access.sasl
        settings["sasl_options"] = {"mechanism": MECHANISM, "username": user, "password": password}
    return KazooClient(hosts=hosts, timeout=timeout, logger=logger, **settings)


class _TlsHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """Opens connections as the reader does: kazoo's own context would trust the system's authorities, too."""

    def __init__(self, access: ZooKeeperAccess) -> None:
        super().__init__()
        self._access = access

    def create_connection(self, *, address: tuple[str, int], hostname: str, timeout: float, **_: Any) -> socket.socket:
        # kazoo resolves the name; the certificate is compared with the given name.
        line = self._access.open(Endpoint(address[0], address[1]), timeout, hostname)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return line

    def select(self, readers: Any, *args: Any, **kwargs: Any) -> Any:
        # A select of the system does not see the bytes that OpenSSL has decrypted.
        ready = [each for each in readers if isinstance(each, ssl.SSLSocket) and each.fileno() >= 0 and each.pending()]
        return (ready, [], []) if ready else super().select(readers, *args, **kwargs)
