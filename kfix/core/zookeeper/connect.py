"""Parses `zookeeper.connect` and opens a session with one of its servers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kfix.core.endpoint import parse_endpoints
from kfix.core.errors import UnreachableError, UsageError
from kfix.core.ledger import Ledger
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline
from kfix.core.zookeeper.access import OPEN, ZooKeeperAccess
from kfix.core.zookeeper.wire import Node, Read, ZooKeeperLine

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Connect:
    """The value of `zookeeper.connect`: servers, one chroot after the last of them, and the credentials."""

    servers: tuple[Endpoint, ...]
    chroot: str
    access: ZooKeeperAccess = field(default=OPEN, repr=False)

    def path(self, path: str) -> str:
        return self.chroot + path

    def __str__(self) -> str:
        return ",".join(map(str, self.servers)) + self.chroot


def parse_connect(text: str, access: ZooKeeperAccess = OPEN) -> Connect:
    """Returns the servers and the chroot.

    Raises UsageError with the first invalid address or the error in the chroot.
    """
    hosts, slash, chroot = text.strip().partition("/")
    servers, faults = parse_endpoints(hosts)
    for fault in (*map(str, faults), *filter(None, (chroot_fault(slash + chroot),))):
        raise UsageError(f"--zookeeper: {fault}", hint="example: zk1:2181,zk2:2181/kafka")
    chroot = chroot.strip("/")
    return Connect(servers, f"/{chroot}" if chroot else "", access)


def chroot_fault(chroot: str) -> str:
    """Returns the error in a chroot (a path that begins with a slash, or ""), or "" if it is valid.

    ZooKeeper rejects empty names, `.` and `..` in a path, and non-printable characters.
    """
    names = chroot.strip("/").split("/")
    if "," in chroot:
        return "the chroot is given once, after the last server: zk1:2181,zk2:2181/kafka"
    if not chroot.isprintable() or " " in chroot:
        return f"{chroot!r} is not a valid chroot: it contains a space or a non-printable character"
    if chroot.strip("/") and any(name in {"", ".", ".."} for name in names):
        return f"{chroot!r} is not a valid chroot: no part of a path may be empty, '.' or '..'"
    return ""


def open_line(connect: Connect, deadline: Deadline, ledger: Ledger | None = None) -> ZooKeeperLine:
    """Returns a session with the first server that has a quorum, else with one that is read-only (no quorum).

    Raises UnreachableError if no server gives a session before the deadline.
    """
    errors: list[str] = []
    fallback: ZooKeeperLine | None = None
    for position, server in enumerate(connect.servers):
        # A hung server uses up only its share; the fallback has its own share.
        shares = len(connect.servers) - position + (fallback is not None)
        try:
            line = ZooKeeperLine(server, deadline.within(deadline.left / shares), ledger, connect.access)
        except UnreachableError as error:
            errors.append(str(error))
            continue
        if line.read_only and fallback is None:
            fallback = line
        elif line.read_only:
            line.close()
        else:
            if fallback is not None:
                fallback.close()
            return line
    if fallback is not None:
        return fallback
    raise UnreachableError("; ".join(errors))


def read_all(
    line: ZooKeeperLine, connect: Connect, reads: Mapping[K, Read], deadline: Deadline
) -> dict[K, Node | None]:
    """Reads paths relative to the chroot in one pipelined round; a value is None if the znode does not exist."""
    requests = [Read(r.kind, connect.path(r.path)) for r in reads.values()]
    return dict(zip(reads, line.read(requests, deadline), strict=True))
