"""When a lab is up: every broker is registered, and every broker answers and names all others."""

from __future__ import annotations

import re
import socket
import time
from typing import TYPE_CHECKING

from kfix.errors import LabError
from kfix.lab.waiting import POLL_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.lab.clients.access import LabClient
    from kfix.lab.definition.state import LabState
    from kfix.lab.nodes.handle import LabHandle
    from kfix.lab.nodes.nodes import Nodes

START_SECONDS = 90.0
READ_ONLY = "read-only"


def wait_zookeeper(lab: LabHandle, numbers: Iterable[int] | None = None, seconds: float = START_SECONDS) -> None:
    """Returns when all servers, or those of `numbers`, serve: read-only if no majority is alive."""
    nodes, state = lab.nodes, lab.state
    awaited = [node for node in state.zookeepers if numbers is None or node.id in set(numbers)]
    majority = 2 * len(nodes.zookeepers_in(state, "alive")) > len(state.zookeepers)
    deadline = time.monotonic() + seconds
    useless = {"", READ_ONLY} if majority else {""}
    while any(zookeeper_mode(state.host_of(node).address, node.port) in useless for node in awaited):
        nodes.raise_if_dead(state, "zookeeper", [node.id for node in awaited])
        if numbers is None:
            nodes.raise_if_dead(state, "broker", [each.id for each in state.processes if each.role == "broker"])
        if time.monotonic() > deadline:
            raise LabError(
                f"ZooKeeper does not serve after {seconds:.0f} s", hint="is the machine overloaded? see the lab's logs"
            )
        time.sleep(POLL_SECONDS)


def wait_brokers(lab: LabHandle, access: LabClient, started: Iterable[int], seconds: float = START_SECONDS) -> None:
    """Returns when all of `started` answer and name every live broker."""
    started = tuple(started)
    nodes, state = lab.nodes, lab.state
    deadline = time.monotonic() + seconds
    while not _all_answer(nodes, access, state, started):
        nodes.raise_if_dead(state, "broker", started)
        if time.monotonic() > deadline:
            raise LabError(
                f"brokers {', '.join(map(str, started))} are not ready after {seconds:.0f} s",
                hint="is the machine overloaded? see the lab's logs",
            )
        time.sleep(POLL_SECONDS)


def _all_answer(nodes: Nodes, access: LabClient, state: LabState, started: tuple[int, ...]) -> bool:
    registered = access.live_ids()
    if not registered.issuperset(started):
        return False
    expected = set(nodes.brokers_in(state, "alive")) & registered
    for broker in started:
        seen = access.metadata(broker)
        # No controller yet: CreateTopics and elections would fail.
        if seen is None or seen.controller < 0 or not seen.brokers.keys() >= expected:
            return False
    return True


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
