"""Reads the data of many znodes over one or more sessions of the same server, with multiRead if the server has it.

multiRead (ZooKeeper 3.6 and newer) answers hundreds of reads at once. An older server answers UNIMPLEMENTED and closes
the session (seen on 3.5.9), so kfix does not try it there: `srvr` names the version, and the reads are pipelined over
all sessions. Both ways return the same results.

Source: jute records `MultiHeader`, `GetDataResponse` and `ErrorResponse` of ZooKeeper 3.6 to 3.9.
"""

import re
import selectors
import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from kfix.core.errors import UnreachableError
from kfix.core.timing import Deadline
from kfix.core.zookeeper.wire import LARGEST_ANSWER, NO_AUTH, NO_NODE, ZooKeeperLine, four_letter_word

T = TypeVar("T")
#: Makes a result of (position, data, czxid, mzxid, mtime in ms, version) of one znode.
Decode = Callable[[int, bytes, int, int, int, int], T]

_GET_DATA, _MULTI_READ = 4, 22
#: Most requests without an answer over all sessions; a server stops reading at 1000 (globalOutstandingLimit).
_WINDOW = 512
#: Reads in one multiRead. More are not faster, and the response stays far below jute.maxbuffer (1 MiB).
_BATCH = 400
_WORTH_MULTI = 50
#: `srvr` is answered at once or not at all.
_VERSION_SECONDS = 0.5

_REQUEST = struct.Struct(">iiii")  # length, xid, type, length of the path
_FRAME = struct.Struct(">iiqi")  # length, xid, zxid, error
_LENGTH = struct.Struct(">i")
_CHANGED = struct.Struct(">qq8xqi")  # From a stat: czxid, mzxid, mtime, version.
_STAT_SIZE = 68
_MULTI_HEADER = struct.Struct(">i?i")  # type, done, error
_READ = _MULTI_HEADER.pack(_GET_DATA, False, -1)
_END = _MULTI_HEADER.pack(-1, True, -1)
_REPLY_SIZE = 16


def read_many(
    lines: Sequence[ZooKeeperLine], paths: Sequence[str], decode: Decode[T], deadline: Deadline
) -> list[T | None]:
    """Returns one result of `decode` per path, in order, None if the znode does not exist.

    Raises UnreachableError for a timeout, a broken response or missing permission.
    """
    results: list[T | None] = [None] * len(paths)
    if paths:
        multi = len(paths) >= _WORTH_MULTI and all(line.multi_read for line in lines)
        _Reading(paths, decode, results, deadline).run([_Session(line, multi=multi) for line in lines])
    return results


def has_multi_read(line: ZooKeeperLine, deadline: Deadline) -> bool:
    """Whether `srvr` names ZooKeeper 3.6 or newer; False if the server does not answer it."""
    try:
        text = four_letter_word(line.endpoint, b"srvr", deadline.within(_VERSION_SECONDS), line.ledger, line.access)
    except UnreachableError:
        return False
    found = re.match(r"Zookeeper version: (\d+)\.(\d+)", text)
    return found is not None and (int(found[1]), int(found[2])) >= (3, 6)


class _Session:
    """A session with the requests that wait for an answer, as ranges of positions, and the bytes received so far."""

    def __init__(self, line: ZooKeeperLine, *, multi: bool) -> None:
        self.line = line
        self.multi = multi
        self.waiting: deque[tuple[int, int, int]] = deque()  # xid of the first request, first position, end
        self.unanswered = 0
        self.buffer = line.rest()


class _Reading(Generic[T]):
    def __init__(self, paths: Sequence[str], decode: Decode[T], results: list[T | None], deadline: Deadline) -> None:
        self._paths = paths
        self._decode = decode
        self._results = results
        self._deadline = deadline

    def run(self, sessions: list[_Session]) -> None:
        """Reads all paths, each session as fast as its answers come."""
        start, total = 0, len(self._paths)
        chunk = _BATCH if sessions[0].multi else max(32, _WINDOW // len(sessions) // 2)
        with selectors.DefaultSelector() as ready:
            for session in sessions:
                ready.register(session.line.socket, selectors.EVENT_READ, session)
            busy = True
            while busy:
                for session in sessions:
                    while start < total and session.unanswered <= (0 if session.multi else chunk):
                        stop = min(total, start + chunk)
                        self._send(session, start, stop)
                        start = stop
                for key, _ in ready.select(self._deadline.require(f"zookeeper {sessions[0].line.endpoint}")):
                    session = key.data
                    session.buffer += session.line.receive(self._deadline)
                    self._parse(session)
                busy = start < total or any(session.waiting for session in sessions)

    def _send(self, session: _Session, start: int, stop: int) -> None:
        paths = [path.encode() for path in self._paths[start:stop]]
        if session.multi:
            xid = session.line.xids(1)
            body = b"".join([_READ + _LENGTH.pack(len(path)) + path + b"\0" for path in paths]) + _END
            request = struct.pack(">iii", len(body) + 8, xid, _MULTI_READ) + body
        else:
            xid = session.line.xids(len(paths))
            pack = _REQUEST.pack
            request = b"".join(
                [pack(len(path) + 13, n, _GET_DATA, len(path)) + path + b"\0" for n, path in enumerate(paths, xid)]
            )
        session.line.send(request, self._deadline)
        session.waiting.append((xid, start, stop))
        session.unanswered += stop - start

    def _parse(self, session: _Session) -> None:
        """Decodes the complete responses in the buffer, and keeps the rest of it."""
        buffer, used = session.buffer, 0
        for xid, error, at, end in _frames(session):
            used = end
            if xid < 0:  # A notification.
                continue
            if not session.waiting or xid != session.waiting[0][0]:
                raise session.line.wrong_answer(self._paths[session.waiting[0][1] if session.waiting else -1])
            _, start, stop = session.waiting[0]
            try:
                if session.multi:
                    self._take_all(session, error, at, end)
                    answered = stop - start
                else:
                    self._take_one(session, error, at, end)
                    answered = 1
            except struct.error:
                raise session.line.broken_answer(self._paths[start]) from None
            session.unanswered -= answered
            if start + answered == stop:
                session.waiting.popleft()
            else:
                session.waiting[0] = (xid + 1, start + 1, stop)
        session.buffer = buffer[used:]

    def _take_one(self, session: _Session, error: int, at: int, end: int) -> None:
        position = session.waiting[0][1]
        if error == 0:
            self._take(session.buffer, at, end, position)
        elif error != NO_NODE:
            self._refused(session, position, error)

    def _take_all(self, session: _Session, error: int, at: int, end: int) -> None:
        _, start, stop = session.waiting[0]
        if error:
            self._refused(session, start, error)
        buffer = session.buffer
        for position in range(start, stop):
            kind, done, _ = _MULTI_HEADER.unpack_from(buffer, at)
            at += _MULTI_HEADER.size
            if done:
                raise session.line.broken_answer(self._paths[position])
            if kind == _GET_DATA:
                at = self._take(buffer, at, end, position)
                continue
            error = _LENGTH.unpack_from(buffer, at)[0]
            at += _LENGTH.size
            if error != NO_NODE:
                self._refused(session, position, error)

    def _take(self, buffer: bytes, at: int, end: int, position: int) -> int:
        """Decodes a GetDataResponse and returns the position after it. Raises struct.error if it is too short."""
        length: int = max(0, _LENGTH.unpack_from(buffer, at)[0])
        at += _LENGTH.size
        after = at + length + _STAT_SIZE
        if after > end:
            raise struct.error("a length beyond the end")
        changed = _CHANGED.unpack_from(buffer, at + length)
        self._results[position] = self._decode(position, buffer[at : at + length], *changed)
        return after

    def _refused(self, session: _Session, position: int, error: int) -> None:
        where = f"zookeeper {session.line.endpoint}"
        if error == NO_AUTH:
            raise UnreachableError(f"{where}: {session.line.access.not_allowed('read', self._paths[position])}")
        raise UnreachableError(f"{where}: error {error} for {self._paths[position]}")


def _frames(session: _Session) -> Iterator[tuple[int, int, int, int]]:
    """Yields (xid, error, begin, end) of each complete response in the buffer, without its header."""
    buffer, at, there = session.buffer, 0, len(session.buffer)
    unpack = _FRAME.unpack_from
    while there - at >= _FRAME.size:
        size, xid, _, error = unpack(buffer, at)
        if not _REPLY_SIZE <= size <= LARGEST_ANSWER:
            raise UnreachableError(f"zookeeper {session.line.endpoint}: the server is not ZooKeeper")
        begin, at = at + _FRAME.size, at + _LENGTH.size + size
        if at > there:
            return
        yield xid, error, begin, at
