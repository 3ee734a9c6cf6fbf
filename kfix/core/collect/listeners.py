"""What listens at an address that does not answer as it should: an HTTP server, ZooKeeper, a Kafka broker, TLS."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.target import Target

BROKER, ZOOKEEPER = "a Kafka broker", "ZooKeeper"
#: Seconds for a question, and for all of them: what hangs is not kept waiting for.
_SECONDS: Final = 0.4
_BUDGET: Final = 1.0
_MOST: Final = 3
#: ApiVersions, version 0, without a client id; its correlation id is 1.
_API_VERSIONS: Final = bytes.fromhex("0000000a00120000 00000001ffff")
#: {what it is: (what it is sent, how it is recognised by the beginning of its answer)}. None of them changes anything.
_TALKS: Final[dict[str, tuple[bytes, Callable[[bytes], bool]]]] = {
    BROKER: (_API_VERSIONS, lambda reply: reply[4:8] == b"\0\0\0\1"),
    # A server that does not allow this command says so.
    ZOOKEEPER: (b"srvr", lambda reply: reply.startswith((b"Zookeeper version", b"srvr is not executed"))),
    "an HTTP server": (b"GET / HTTP/1.0\r\n\r\n", lambda reply: reply.startswith(b"HTTP/")),
    "a TLS server": (b"GET / HTTP/1.0\r\n\r\n", lambda reply: reply[:2] == b"\x15\x03"),
}


def mistaken(target: Target) -> Iterator[str]:
    """Yields a sentence for each of the first addresses of the target at which something else listens."""
    zookeeper = () if target.zookeeper is None else target.zookeeper.servers
    wanted = [*((each, BROKER) for each in target.bootstrap), *((each, ZOOKEEPER) for each in zookeeper)]
    end = time.monotonic() + _BUDGET
    for endpoint, what in wanted[:_MOST]:
        found = _listener(endpoint, end)
        if found and found != what:
            yield f"{endpoint} is {found}, not {what}"


def _listener(endpoint: Endpoint, end: float) -> str:
    """Returns what listens there, "" if it is nothing of these, or does not answer in time."""
    for what, (question, recognised) in _TALKS.items():
        if time.monotonic() >= end:
            break
        with suppress(OSError), socket.create_connection((endpoint.host, endpoint.port), _SECONDS) as line:
            line.sendall(question)
            if recognised(line.recv(32)):
                return what
    return ""
