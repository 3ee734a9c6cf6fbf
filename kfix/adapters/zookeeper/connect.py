"""`zookeeper.connect` read, and a session opened with one of its servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from kfix.adapters.deadline import Deadline
from kfix.adapters.endpoint import parse_endpoints
from kfix.adapters.zookeeper.wire import Node, Read, ZooKeeperLine
from kfix.errors import UnreachableError, UsageError
from kfix.model.cluster.snapshot import Endpoint

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Connect:
    """`zookeeper.connect`: servers, then one chroot behind the last of them."""

    servers: tuple[Endpoint, ...]
    chroot: str

    def path(self, path: str) -> str:
        return self.chroot + path

    def __str__(self) -> str:
        return ",".join(map(str, self.servers)) + self.chroot


def parse_connect(text: str) -> Connect:
    """Raises UsageError, which names the first part that is no address, or what is wrong with the chroot."""
    hosts, slash, chroot = text.strip().partition("/")
    servers, faults = parse_endpoints(hosts)
    for fault in (*map(str, faults), *filter(None, (chroot_fault(slash + chroot),))):
        raise UsageError(f"--zookeeper: {fault}", hint="example: zk1:2181,zk2:2181/kafka")
    chroot = chroot.strip("/")
    return Connect(servers, f"/{chroot}" if chroot else "")


def chroot_fault(chroot: str) -> str:
    """Returns what is wrong with a chroot, which begins with a slash where there is one; "" where nothing is.

    ZooKeeper takes no empty name, no `.` and no `..` in a path, and no character that cannot be printed.
    """
    names = chroot.strip("/").split("/")
    if "," in chroot:
        return "the chroot stands once, behind the last server: zk1:2181,zk2:2181/kafka"
    if not chroot.isprintable() or " " in chroot:
        return f"{chroot!r} is no chroot: a space, or a character that cannot be printed, is in it"
    if chroot.strip("/") and any(name in {"", ".", ".."} for name in names):
        return f"{chroot!r} is no chroot: no part of a path is empty, '.' or '..'"
    return ""


def open_line(connect: Connect, deadline: Deadline) -> ZooKeeperLine:
    """The first server that gives a full session; a read-only one (no quorum) only where there is no other."""
    errors: list[str] = []
    fallback: ZooKeeperLine | None = None
    for position, server in enumerate(connect.servers):
        # A hung one costs its share; what there is to fall back to keeps one of its own.
        shares = len(connect.servers) - position + (fallback is not None)
        try:
            line = ZooKeeperLine(server, deadline.within(deadline.left / shares))
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
    line: ZooKeeperLine, connect: Connect, wanted: Mapping[K, Read], deadline: Deadline
) -> dict[K, Node | None]:
    """Paths in `wanted` are below the chroot; one pipelined round."""
    asked = [Read(r.kind, connect.path(r.path)) for r in wanted.values()]
    return dict(zip(wanted, line.read(asked, deadline), strict=True))
