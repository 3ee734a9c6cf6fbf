"""Compares one ZooKeeper server with the other servers of its ensemble, since a single one may be wrong.

A server that was restored from a backup, started as `standalone` or belongs to another ensemble answers like any other.
After a sync, two servers of one ensemble differ for moments only. If a second server showed the same before and after a
read at the first one, and the first shows something else, they contradict each other (docs/adr/036).
"""

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from kfix.core.errors import UnreachableError
from kfix.core.harmless import one_line
from kfix.core.ledger import Ledger
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline
from kfix.core.wording import several
from kfix.core.zookeeper.connect import Connect, read_all
from kfix.core.zookeeper.wire import Node, Read, ZooKeeperLine, children, exists, get, sync

#: Paths that every server must show alike. Lists that can be long are compared by their number of entries.
COMPARED: Mapping[str, Read] = {
    "/controller": get("/controller"),
    "/controller_epoch": get("/controller_epoch"),
    "/cluster/id": get("/cluster/id"),
    "/brokers/ids": children("/brokers/ids"),
    "/brokers/topics": exists("/brokers/topics"),
    "/config/topics": exists("/config/topics"),
    "/admin/reassign_partitions": get("/admin/reassign_partitions"),
    "/migration": exists("/migration"),
}
#: More witnesses make a diagnosis slower, not safer.
_MOST_WITNESSES = 2
#: A hung server must not use up the time that the brokers need.
_WITNESS_SECONDS = 1.0
#: Pauses before each comparison, in seconds: a contradiction that is gone in the next one was a change.
ROUNDS = (0.0, 0.02, 0.1, 0.3)
_MOST_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Contradiction:
    """`other` differs from the server that was read: `path` is `here` at that server, and `there` at the other."""

    other: Endpoint
    path: str
    here: str
    there: str


class Witnesses:
    """Sessions with other servers of the ensemble, opened while the first one is read."""

    def __init__(self, connect: Connect, servers: Sequence[Endpoint], deadline: Deadline, ledger: Ledger) -> None:
        self._connect = connect
        self._deadline = deadline.within(min(_WITNESS_SECONDS, deadline.left / 3))
        self._ledger = ledger
        self._lines: dict[Endpoint, ZooKeeperLine] = {}
        self._closed = False
        self._mutex = threading.Lock()
        self._threads = [
            threading.Thread(target=self._open, args=(server,), name=f"kfix witness {server}", daemon=True)
            for server in servers[:_MOST_WITNESSES]
        ]

    def __enter__(self) -> Self:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *error: object) -> None:
        with self._mutex:
            self._closed = True
            for line in self._lines.values():
                line.close()

    def _open(self, server: Endpoint) -> None:
        with contextlib.suppress(UnreachableError):
            line = ZooKeeperLine(server, self._deadline, self._ledger, self._connect.access)
            with self._mutex:
                if self._closed or line.read_only:  # Without a quorum it may be stale, which KFX805 reports.
                    line.close()
                else:
                    self._lines[server] = line

    def compare(
        self, line: ZooKeeperLine, paths: Iterable[str], deadline: Deadline
    ) -> tuple[frozenset[Endpoint], tuple[Contradiction, ...]]:
        """Returns (servers that agree with `line`, contradictions, at most one per server).

        `paths` are compared in addition to COMPARED. A server that does not answer is in neither.
        """
        for each in self._threads:
            each.join(self._deadline.left)
        with self._mutex:
            lines = dict(self._lines)
        reads = {**COMPARED, **{path: get(path) for path in paths}}
        agreeing, contradictions = set(), []
        for server, other in lines.items():
            try:
                found = contradiction(line, other, self._connect, reads, deadline)
            except _WitnessLostError:
                continue
            if found is None:
                agreeing.add(server)
            else:
                contradictions.append(found)
        return frozenset(agreeing), tuple(contradictions)


class _WitnessLostError(Exception):
    """The witness ended its session, or does not answer in time."""


def contradiction(
    line: ZooKeeperLine, other: ZooKeeperLine, connect: Connect, reads: Mapping[str, Read], deadline: Deadline
) -> Contradiction | None:
    """Returns the persistent difference between the two servers, or None if they agree in one round."""
    found: Contradiction | None = None
    for pause in ROUNDS:
        time.sleep(min(pause, deadline.left))
        before = _witnessed(other, connect, reads, deadline)
        zxid_before = other.zxid
        here = _read(line, connect, reads, deadline)
        zxid_here = line.zxid
        after = _witnessed(other, connect, reads, deadline)
        same = [path for path in reads if _known(before[path]) == _known(after[path])]
        found = next(
            (
                Contradiction(other.endpoint, path, _shown(here[path]), _shown(after[path]))
                for path in same
                if _known(here[path]) != _known(after[path])
            ),
            None,
        )
        if found is None and not zxid_before <= zxid_here <= other.zxid:
            found = Contradiction(other.endpoint, "its last transaction", f"0x{zxid_here:x}", f"0x{other.zxid:x}")
        if found is None:
            return None
    return found


def _witnessed(
    line: ZooKeeperLine, connect: Connect, reads: Mapping[str, Read], deadline: Deadline
) -> dict[str, Node | None]:
    try:
        return _read(line, connect, reads, deadline.within(_WITNESS_SECONDS))
    except UnreachableError as error:
        raise _WitnessLostError(str(error)) from None


def _read(
    line: ZooKeeperLine, connect: Connect, reads: Mapping[str, Read], deadline: Deadline
) -> dict[str, Node | None]:
    found = read_all(line, connect, {"": sync("/brokers"), **reads}, deadline)
    del found[""]
    return found


def _known(node: Node | None) -> tuple[object, ...] | None:
    """Returns the values that must be equal at two servers that have caught up."""
    if node is None:
        return None
    return node.data, sorted(node.children), node.stat.czxid, node.stat.mzxid, node.stat.n_children


def _shown(node: Node | None) -> str:
    if node is None:
        return "missing"
    text = node.data.decode("utf-8", "replace") if node.data else ""
    if node.children:
        text = f"[{', '.join(sorted(node.children))}]"
    children = several(node.stat.n_children, "child", "children")
    changed = f"mzxid 0x{node.stat.mzxid:x}" + ("" if text else f", {children}")
    return one_line(f"{text[:_MOST_SHOWN]} ({changed})".strip())
