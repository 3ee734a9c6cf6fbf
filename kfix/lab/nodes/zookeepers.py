"""The ZooKeeper ensemble as the keeper of a lab's record."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

from kfix.lab.definition.keeper_security import super_digest
from kfix.lab.nodes.authority import Authority
from kfix.lab.nodes.configs import plain_zookeeper_connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kfix.lab.clients.access import LabClient
    from kfix.lab.definition.state import Node

READ_ONLY = "read-only"


class ZooKeeperEnsemble(Authority):
    role = "zookeeper"
    title = "ZooKeeper"
    buries = "ZooKeeper ends the session"
    buried = "ZooKeeper has ended the session"

    def prepare(self, nodes: Iterable[Node], role: str = "broker") -> None:
        """With ZooKeeper, a process needs no more than an empty folder."""

    def serves(self, numbers: frozenset[int] | None) -> bool:
        """Read-only is enough if no majority is alive."""
        state = self.state
        majority = 2 * len(self.nodes.those_in(state, self.role, "alive")) > len(state.zookeepers)
        useless = {"", READ_ONLY} if majority else {""}
        awaited = [node for node in state.zookeepers if numbers is None or node.id in numbers]
        return not any(zookeeper_mode(state.host_of(node).address, node.port) in useless for node in awaited)

    def revive(self) -> Iterator[str]:
        nodes, state = self.nodes, self.state
        dead = nodes.those_in(state, self.role, "dead")
        if lonely := self._read_only():
            nodes.kill(state, lonely, "zookeeper")
        for number in nodes.those_in(state, self.role, "stopped"):
            nodes.cont(state, number, "zookeeper")
            yield f"continued zookeeper {number}"
        self.start((*dead, *lonely))
        if dead:
            yield f"started zookeeper {' and '.join(map(str, dead))}"
        if lonely:
            yield f"restarted zookeeper {' and '.join(map(str, lonely))}, which had no quorum"
        self.wait()

    def client(self, addresses: Callable[[], Mapping[int, str]]) -> LabClient:
        from kfix.lab.clients.zookeeper import ZooKeeperClient  # noqa: PLC0415 - loads the client libraries

        return ZooKeeperClient(plain_zookeeper_connect(self.state), addresses, super_digest(self.state))

    def buries_now(self) -> bool:
        return True

    def _read_only(self) -> tuple[int, ...]:
        """Returns the servers without a quorum, which must be restarted (docs/lab.md: ZooKeeper's faults).

        Seen on 3.5.9: such a server has ended the brokers' sessions in memory and keeps that when it joins again. Its
        disk still has the sessions.
        """
        nodes, state = self.nodes, self.state
        alive = nodes.those_in(state, self.role, "alive")
        return tuple(
            each.id
            for each in state.zookeepers
            if each.id in alive and zookeeper_mode(state.host_of(each).address, each.port) == READ_ONLY
        )


def zookeeper_mode(address: str, port: int) -> str:
    """Returns the mode of a server: `leader`, `follower`, `standalone`, `read-only`, or empty without answer or quorum.

    `srvr` is the one four-letter word that every ZooKeeper version allows.
    """
    try:
        with socket.create_connection((address, port), timeout=2) as connection:
            connection.sendall(b"srvr")
            answer = b""
            while chunk := connection.recv(4096):
                answer += chunk
    except OSError:
        return ""
    found = re.search(rb"^Mode: (\S+)", answer, re.MULTILINE)
    return found[1].decode() if found else ""
