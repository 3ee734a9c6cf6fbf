"""A ZooKeeper server that lies: a server on loopback before a real one, which alters or withholds what that answers."""

from __future__ import annotations

import contextlib
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline
from kfix.core.zookeeper.servers import probe_node
from kfix.lab import Lab
from tests.listening import exactly
from tests.waiting import wait_until

_GET_DATA, _SYNC = 4, 9
_REPLY = struct.Struct(">iqi")  # xid, zxid, error


@dataclass
class Liar:
    """Answers as the server at `truth` does, but for its lies.

    lies    {path with the chroot: what its data becomes}
    frozen  whether each znode is answered as it was when it was asked for the first time, zxid and stat included
    zxid    what is claimed as the last transaction, if not the truth
    """

    truth: Endpoint
    lies: Mapping[str, Callable[[bytes], bytes]] = field(default_factory=dict)
    frozen: bool = False
    zxid: int | None = None
    _known: dict[tuple[int, str], bytes] = field(default_factory=dict)

    def talk(self, line: socket.socket) -> None:
        with line:
            self._talk(line)

    def _talk(self, line: socket.socket) -> None:
        asked: dict[int, tuple[int, str]] = {}
        with socket.create_connection((self.truth.host, self.truth.port), 10) as real:
            real.settimeout(None)
            first = exactly(line, 4)
            real.sendall(first)
            if first == b"srvr":
                said = b"".join(iter(lambda: real.recv(4096), b""))
                line.sendall(said)
                return
            handshake = exactly(line, struct.unpack(">i", first)[0])
            real.sendall(handshake)
            line.sendall(_frame(real))
            back = threading.Thread(target=self._answer, args=(real, line, asked), daemon=True)
            back.start()
            with contextlib.suppress(OSError):
                while head := exactly(line, 4):
                    body = exactly(line, struct.unpack(">i", head)[0])
                    xid, kind = struct.unpack_from(">ii", body)
                    if kind not in (_SYNC, -11) and len(body) > 12:
                        size = struct.unpack_from(">i", body, 8)[0]
                        asked[xid] = (kind, body[12 : 12 + size].decode())
                    real.sendall(head + body)

    def _answer(self, real: socket.socket, line: socket.socket, asked: dict[int, tuple[int, str]]) -> None:
        with contextlib.suppress(OSError, struct.error):
            while True:
                body = _frame(real)[4:]
                if not body:
                    return
                line.sendall(_framed(self._bent(body, asked)))

    def _bent(self, body: bytes, asked: dict[int, tuple[int, str]]) -> bytes:
        xid, zxid, error = _REPLY.unpack_from(body)
        kind, path = asked.pop(xid, (0, ""))
        rest = body[_REPLY.size :]
        if self.frozen:
            zxid, error, rest = self._as_first((kind, path), (zxid, error, rest))
        if kind == _GET_DATA and not error and path in self.lies:
            size = max(0, struct.unpack_from(">i", rest)[0])
            data = self.lies[path](rest[4 : 4 + size])
            rest = struct.pack(">i", len(data)) + data + rest[4 + size :]
        return _REPLY.pack(xid, zxid if self.zxid is None else self.zxid, error) + rest

    def _as_first(self, key: tuple[int, str], now: tuple[int, int, bytes]) -> tuple[int, int, bytes]:
        packed = self._known.setdefault(key, _REPLY.pack(0, now[0], now[1]) + now[2])
        _, zxid, error = _REPLY.unpack_from(packed)
        return zxid, error, packed[_REPLY.size :]


def _frame(line: socket.socket) -> bytes:
    head = exactly(line, 4)
    return head + exactly(line, struct.unpack(">i", head)[0]) if head else b""


def _framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@contextlib.contextmanager
def alone(lab: Lab, number: int, folder: Path) -> Iterator[Endpoint]:
    """A real server that was started without the list of the others, from a copy of the data of server `number`."""
    record = next(each for each in lab.state.processes if each.role == "zookeeper" and each.id == number)
    command = [word.decode() for word in Path(f"/proc/{record.pid}/cmdline").read_bytes().split(b"\0") if word]
    written = Path(command[-1]).read_text(encoding="utf-8").splitlines()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    kept = dict(line.split("=", 1) for line in written if "=" in line and not line.startswith("server."))
    shutil.copytree(kept["dataDir"], folder / "data")
    kept |= {"dataDir": str(folder / "data"), "clientPort": str(port), "clientPortAddress": "127.0.0.1"}
    file = folder / "alone.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in kept.items()), encoding="utf-8")
    words = [word for word in command[:-1] if not word.startswith(("-Dkfix.lab.id=", "kfix.lab.id="))]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*words, str(file)], stdout=log, stderr=log)
    try:
        at = Endpoint("127.0.0.1", port)
        wait_until(lambda: probe_node(at, Deadline.after(3)).mode == "standalone", "it serves alone", 30)
        yield at
    finally:
        process.kill()
        process.wait()
