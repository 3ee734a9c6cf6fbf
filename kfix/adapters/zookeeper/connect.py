"""`zookeeper.connect` read, and a session opened with one of its servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from kfix.adapters.deadline import Deadline
from kfix.adapters.endpoint import parse_endpoint
from kfix.adapters.zookeeper.wire import Node, Read, ZooKeeperLine
from kfix.errors import UnreachableError, UsageError
from kfix.model.snapshot import Endpoint

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
    hosts, slash, chroot = text.partition("/")
    servers = []
    for host_port in filter(None, (h.strip() for h in hosts.split(","))):
        server = parse_endpoint(host_port)
        if server is None:
            raise UsageError(f"--zookeeper: {host_port!r} is not HOST:PORT", hint="example: zk1:2181,zk2:2181/kafka")
        servers.append(server)
    if not servers:
        raise UsageError("--zookeeper: no server named", hint="example: zk1:2181,zk2:2181/kafka")
    chroot = "" if not chroot.strip("/") else slash + chroot.strip("/")
    return Connect(tuple(servers), chroot)


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
