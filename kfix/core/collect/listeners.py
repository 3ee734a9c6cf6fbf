"""What listens at an address that does not answer as it should: an HTTP server, ZooKeeper, a Kafka broker, TLS."""

import socket
import threading
import time
from collections.abc import Callable, Iterable
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


def wanted(target: Target) -> tuple[tuple[str, int, str], ...]:
    """Returns (host, port, what should listen there) of the first addresses of a target."""
    zookeeper = () if target.zookeeper is None else target.zookeeper.servers
    listed = (*((each, BROKER) for each in target.bootstrap), *((each, ZOOKEEPER) for each in zookeeper))
    return tuple((each.host, each.port, what) for each, what in listed[:_MOST])


def mistaken(addresses: Iterable[tuple[str, int, str]]) -> list[str]:
    """Returns a sentence for each address at which something else listens, within about a second."""
    found: list[str] = []
    end = time.monotonic() + _BUDGET

    def ask() -> None:
        for host, port, what in addresses:
            there = _listener((host, port), end)
            if there and there != what:
                found.append(f"{Endpoint(host, port)} is {there}, not {what}")

    # A name server that does not answer holds it up.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_BUDGET)
    return [*found]


def _listener(address: tuple[str, int], end: float) -> str:
    """Returns what listens there, "" if it is nothing of these, or does not answer in time."""
    for what, (question, recognised) in _TALKS.items():
        if time.monotonic() >= end:
            break
        with suppress(OSError), socket.create_connection(address, _SECONDS) as line:
            line.sendall(question)
            if recognised(line.recv(32)):
                return what
    return ""
