"""The ZooKeeper ensemble as the keeper of a lab's record."""

from __future__ import annotations

import re
import socket
import time
from typing import TYPE_CHECKING

from kfix.core.errors import LabError
from kfix.lab.definition.keeper_security import super_digest
from kfix.lab.definition.state import no_such
from kfix.lab.nodes.authority import START_SECONDS, Authority
from kfix.lab.nodes.configs import plain_zookeeper_connect
from kfix.lab.waiting import POLL_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kfix.lab.clients.access import LabClient
    from kfix.lab.definition.state import BrokerDef

READ_ONLY = "read-only"


class ZooKeeperEnsemble(Authority):
    role = "zookeeper"
    title = "ZooKeeper"
    buries = "ZooKeeper ends the session"
    buried = "ZooKeeper has ended the session"

    def start_lab(self) -> None:
        state = self.state
        for node in state.zookeepers:
            self.nodes.start_zookeeper(state, node)
        # Brokers wait for ZooKeeper by themselves, so all JVMs start in parallel.
        for broker in state.brokers:
            self.nodes.start_broker(state, broker)

    def prepare(self, brokers: Iterable[BrokerDef]) -> None:
        """A broker with ZooKeeper needs no more than an empty folder."""

    def start(self, numbers: Iterable[int]) -> None:
        wanted = tuple(numbers)
        if not wanted:
            return
        state = self.state
        known = {each.id: each for each in state.zookeepers}
        for number in wanted:
            if number not in known:
                raise no_such(state, self.role, number)
        for number in wanted:
            self.nodes.start_zookeeper(state, known[number])
        self.wait(wanted)

    def wait(self, numbers: Iterable[int] | None = None, seconds: float = START_SECONDS) -> None:
        """Returns when all servers, or those of `numbers`, serve: read-only if no majority is alive."""
        nodes, state = self.nodes, self.state
        chosen = None if numbers is None else frozenset(numbers)
        awaited = [node for node in state.zookeepers if chosen is None or node.id in chosen]
        majority = 2 * len(nodes.zookeepers_in(state, "alive")) > len(state.zookeepers)
        deadline = time.monotonic() + seconds
        useless = {"", READ_ONLY} if majority else {""}
        while any(zookeeper_mode(state.host_of(node).address, node.port) in useless for node in awaited):
            nodes.raise_if_dead(state, "zookeeper", [node.id for node in awaited])
            if chosen is None:
                nodes.raise_if_dead(state, "broker", [each.id for each in state.processes if each.role == "broker"])
            if time.monotonic() > deadline:
                raise LabError(
                    f"ZooKeeper does not serve after {seconds:.0f} s",
                    hint="is the machine overloaded? see the lab's logs",
                )
            time.sleep(POLL_SECONDS)

    def revive(self) -> Iterator[str]:
        nodes, state = self.nodes, self.state
        dead = nodes.zookeepers_in(state, "dead")
        if lonely := self._read_only():
            nodes.kill(state, lonely, "zookeeper")
        for number in nodes.zookeepers_in(state, "stopped"):
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
        alive = nodes.zookeepers_in(state, "alive")
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
