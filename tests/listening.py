"""A listener on loopback: each connection is given to a function, in a thread of its own, and stays open to the end."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

from kfix.core.snapshot.snapshot import Endpoint
from tests.waiting import seconds


@contextlib.contextmanager
def listening(talk: Callable[[socket.socket], object]) -> Iterator[Endpoint]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    lines: list[socket.socket] = []

    def conversation(line: socket.socket) -> None:
        with contextlib.suppress(OSError, struct.error):
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            talk(line)

    def accept() -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            lines.append(line)
            threading.Thread(target=conversation, args=(line,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield Endpoint("127.0.0.1", listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(seconds(2))  # Before the connections are closed: it may have accepted another one.
        listener.close()
        for line in lines:
            line.close()


def exactly(line: socket.socket, size: int) -> bytes:
    """Returns so many bytes, or none if the connection ends before."""
    data = b""
    while len(data) < size:
        part = line.recv(size - len(data))
        if not part:
            return b""
        data += part
    return data


def hangs(_line: socket.socket) -> None:
    threading.Event().wait(seconds(30))
