"""The settings of a KRaft controller that decide elections, read at its own listener (docs/facts/kraft.md).

A broker answers with its own settings and defaults, which decide no election.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.collect.tasks import Questions, Task, as_finished
from kfix.core.deadline import Deadline
from kfix.core.derive.elections import UNCLEAN
from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.snapshot.snapshot import Endpoint

#: Start of the source's name if a controller refused them.
SOURCE = "settings of controller"
#: Seconds for the answers of the active controller, and of the others, after everything else was read.
_LAST, _OTHERS = 1.0, 0.25
_KEYS = ("min.insync.replicas", UNCLEAN)


class ControllerSettings:
    """The requests to all controllers, each one sent as soon as the node at its address is known.

    `connect` makes a connection to the listener of a controller.
    """

    def __init__(self, connect: Callable[[Endpoint], BrokerConnection], deadline: Deadline) -> None:
        self._connect = connect
        self._deadline = deadline
        self._aside = Questions()
        self._asked: dict[int, Task[dict[str, str]]] = {}

    def ask(self, nodes: Mapping[int, Endpoint]) -> None:
        for node, endpoint in nodes.items():
            if node not in self._asked:
                self._asked[node] = self._aside.start(
                    f"{SOURCE} {node}",
                    lambda n=node, e=endpoint: self._of(n, e),  # type: ignore[misc]
                )

    def answers(self, leader: int) -> dict[int, dict[str, str]]:
        """Returns {controller: settings} of those that have answered; waits longest for the active one."""
        if leader in self._asked:
            self._asked[leader].result(self._deadline.within(_LAST))
        for _ in as_finished(self._asked.values(), self._deadline.within(_OTHERS)):
            pass
        return {node: found for node, task in self._asked.items() if (found := task.answer_so_far)}

    def why_unread(self, leader: int) -> str:
        """Returns why the settings of the active controller, which was asked, are unknown, or ""."""
        return self._asked[leader].error if leader in self._asked else ""

    def _of(self, node: int, endpoint: Endpoint) -> dict[str, str]:
        with self._connect(endpoint) as line:
            return ask_controller_settings(line, node, self._deadline)


def ask_controller_settings(line: BrokerConnection, node: int, deadline: Deadline) -> dict[str, str]:
    """Returns {key: value in force, including dynamic defaults}; empty before KIP-919, which added the request.

    Raises UnreachableError if the controller refuses, or is another node.
    """
    if not line.supports(requests.DESCRIBE_CONFIGS, 1, deadline):
        return {}
    request = requests.describe_configs(requests.BROKER_RESOURCE, (str(node),), _KEYS)
    described = line.call(request, deadline)
    if not described or described[0].error:
        raise UnreachableError(name_of(described[0].error) if described else "an empty response")
    return dict(described[0].values)
