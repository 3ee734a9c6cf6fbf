"""A line to a server that passes few bytes a second, or none at all after it was accepted."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

_CHUNK = 512


@contextlib.contextmanager
def slow_line(server: str, bytes_a_second: int) -> Iterator[str]:
    """Yields the address of a proxy of this server; with 0 it accepts connections and passes nothing (half-open)."""
    host, _, port = server.rpartition(":")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()
        threading.Thread(
            target=_serve, args=(listener, (host, int(port)), bytes_a_second, over), name="slow line", daemon=True
        ).start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()


def _serve(listener: socket.socket, server: tuple[str, int], rate: int, over: threading.Event) -> None:
    held = []
    while not over.is_set():
        try:
            client, _ = listener.accept()
        except OSError:
            return
        held.append(client)
        if rate:
            there = socket.create_connection(server)
            held.append(there)
            for one, other, pause in ((client, there, 0.0), (there, client, _CHUNK / rate)):
                threading.Thread(target=_pass, args=(one, other, pause, over), name="slow line", daemon=True).start()


def _pass(one: socket.socket, other: socket.socket, pause: float, over: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while not over.is_set() and (part := one.recv(_CHUNK)):
            time.sleep(pause)
            other.sendall(part)
