"""A ZooKeeper server and a broker on loopback that answer what they are given: real sockets, hostile contents."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.listening import exactly
from tests.wire import Writer

Bend = Callable[[bytes], bytes]
_GET_DATA, _SYNC, _GET_CHILDREN, _MULTI_READ, _CLOSE = 4, 9, 12, 22, -11
_STAT = struct.Struct(">qqqqiiiqiiq")


def stat(**fields: int) -> bytes:
    names = ("czxid", "mzxid", "ctime", "mtime", "version", "cversion", "aversion", "owner", "length", "n", "pzxid")
    known = {"czxid": 7, "mzxid": 44, "ctime": 1_700_000_000_000, "mtime": 1_700_000_000_000, "version": 3} | fields
    return _STAT.pack(*(known.get(n, 0) for n in names))


@dataclass
class ZooKeeperServer:
    """`nodes` are the data, `children` the lists; `bend` changes an answer's bytes, after which the line is closed.

    `multi` makes it a server of 3.6 or newer, which knows multiRead.
    """

    nodes: Mapping[str, bytes] = field(default_factory=dict)
    children: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    stats: Mapping[str, bytes] = field(default_factory=dict)
    bend: Bend | None = None
    multi: bool = False

    def talk(self, line: socket.socket) -> None:
        with line:
            self._talk(line)

    def _talk(self, line: socket.socket) -> None:
        head = exactly(line, 4)
        if head == b"srvr":
            version = b"3.8.4" if self.multi else b"3.5.9"
            line.sendall(b"Zookeeper version: " + version + b"\nZxid: 0x500000002\nMode: standalone\n")
            return
        exactly(line, struct.unpack(">i", head)[0])
        self._send(line, struct.pack(">iiqi16s?", 0, 30_000, 77, 16, bytes(16), False), bent=False)
        while head := exactly(line, 4):
            body = exactly(line, struct.unpack(">i", head)[0])
            xid, kind = struct.unpack_from(">ii", body)
            if kind == _CLOSE:
                return
            if kind == _MULTI_READ:
                self._send(line, self._answer_all(xid, body), bent=True)
                if not self.multi:
                    return  # as 3.5.9 does
                continue
            path = body[12 : 12 + struct.unpack_from(">i", body, 8)[0]].decode()
            self._send(line, self._answer(xid, kind, path), bent=True)

    def _answer_all(self, xid: int, body: bytes) -> bytes:
        """Answers as 3.5.9 and as 3.8.4 do."""
        if not self.multi:
            return struct.pack(">iqi", xid, 9, -6)
        at, found = 8, struct.pack(">iqi", xid, 9, 0)
        while True:
            kind, done, _ = struct.unpack_from(">i?i", body, at)
            at += 9
            if done:
                return found + struct.pack(">i?i", -1, True, -1)
            size = struct.unpack_from(">i", body, at)[0]
            path = body[at + 4 : at + 4 + size].decode()
            at += 5 + size
            if path in self.nodes:
                found += struct.pack(">i?i", kind, False, 0) + self._answer(xid, kind, path)[16:]
            else:
                found += struct.pack(">i?i", -1, False, -101) + struct.pack(">i", -101)

    def _answer(self, xid: int, kind: int, path: str) -> bytes:
        there = path in self.nodes or path in self.children
        if kind == _SYNC:
            return struct.pack(">iqi", xid, 9, 0)
        if not there:
            return struct.pack(">iqi", xid, 9, -101)
        found = struct.pack(">iqi", xid, 9, 0)
        if kind == _GET_DATA:
            data = self.nodes.get(path, b"")
            found += struct.pack(">i", len(data)) + data
        elif kind == _GET_CHILDREN:
            names = [n.encode("utf-8", "surrogatepass") for n in self.children.get(path, ())]
            found += struct.pack(">i", len(names)) + b"".join(struct.pack(">i", len(n)) + n for n in names)
        return found + self.stats.get(path, stat())

    def _send(self, line: socket.socket, body: bytes, *, bent: bool) -> None:
        frame = struct.pack(">i", len(body)) + body
        changed = self.bend(frame) if self.bend is not None and bent else frame
        line.sendall(changed)
        if changed != frame:
            line.shutdown(socket.SHUT_RDWR)


@dataclass
class Broker:
    """`answers` are the bodies by API key; `bend` changes the bytes of a body, `bend_frame` those of the whole."""

    answers: Mapping[int, bytes] = field(default_factory=dict)
    bend: Mapping[int, Bend] = field(default_factory=dict)
    bend_frame: Bend | None = None
    versions: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def talk(self, line: socket.socket) -> None:
        with line:
            self._talk(line)

    def _talk(self, line: socket.socket) -> None:
        while head := exactly(line, 4):
            body = exactly(line, struct.unpack(">i", head)[0])
            key, version, correlation = struct.unpack_from(">hhi", body)
            answer = struct.pack(">i", correlation)
            if key in {45, 46} or (key, version) == (35, 4):
                answer += b"\0"
            said = self._versions() if key == 18 else self.answers.get(key, b"")
            answer += self.bend.get(key, bytes)(said)
            frame = struct.pack(">i", len(answer)) + answer
            changed = self.bend_frame(frame) if self.bend_frame is not None else frame
            line.sendall(changed)
            if changed != frame:
                line.shutdown(socket.SHUT_RDWR)

    def _versions(self) -> bytes:
        ranges = sorted(self.versions.items())
        return Writer().i16(0).array(ranges, lambda w, r: w.i16(r[0]).i16(r[1][0]).i16(r[1][1])).done()
