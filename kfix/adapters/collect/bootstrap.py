"""Finding the cluster: all bootstrap servers are asked at once, so that dead ones cost no time."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kfix.adapters.collect.broker import ask_brokers, ask_configs
from kfix.adapters.collect.tasks import Questions, as_finished
from kfix.adapters.deadline import Deadline
from kfix.adapters.kafka.connection import BrokerConnection
from kfix.adapters.kafka.responses import MetadataResponse
from kfix.adapters.target import Target
from kfix.errors import UnreachableError
from kfix.model.cluster.snapshot import Endpoint


@dataclass(frozen=True, slots=True)
class Bootstrapped:
    """`metadata` without partitions: who is there, fast. `broker` is the id behind the connection, None where its own
    list names another address; then its `configs` cannot be asked for.
    """

    metadata: MetadataResponse
    connection: BrokerConnection
    broker: int | None
    configs: Mapping[str, str]


class _Race:
    """The first to arrive keeps its connection open; the others close theirs, and have told who they are."""

    def __init__(self, target: Target, deadline: Deadline) -> None:
        self._target = target
        self._deadline = deadline
        self._won = threading.Lock()

    def ask(self, endpoint: Endpoint) -> tuple[int | None, Bootstrapped | None]:
        connection = BrokerConnection(endpoint, self._target.security)
        try:
            said = ask_brokers(connection, self._deadline)
            own = _own_id(endpoint, said)
            # They say where ZooKeeper is, whose long reading can begin while the brokers are still telling theirs.
            configs = {} if own is None else ask_configs(connection, own, self._deadline)
        except BaseException:
            connection.close()
            raise
        if not self._won.acquire(blocking=False):
            connection.close()
            return own, None
        return own, Bootstrapped(said, connection, own, configs)


class Bootstrap:
    """All bootstrap servers under way. A cut cluster has brokers that only these addresses lead to."""

    def __init__(self, look: Questions, target: Target, deadline: Deadline) -> None:
        self._look = look
        self._deadline = deadline
        race = _Race(target, deadline)
        self._tasks = {
            e: look.start(f"bootstrap {e}", lambda e=e: race.ask(e))  # type: ignore[misc]
            for e in target.bootstrap
        }

    def first(self) -> Bootstrapped | None:
        """None, with the errors in the look, where no bootstrap server answers."""
        for task in as_finished(self._tasks.values(), self._deadline):
            answer = task.result(self._deadline)
            if answer is not None and answer[1] is not None:
                self._forgive()
                return answer[1]
        return None

    def strangers(self, known: Collection[Endpoint]) -> dict[int, Endpoint]:
        """Who has answered by now at an address that nobody else told: {its id by its own word: the address}."""
        found = {}
        for endpoint, task in self._tasks.items():
            answer = task.result(self._deadline) if endpoint not in known and task.done else None
            if answer is not None and answer[0] is not None:
                found[answer[0]] = endpoint
        self._forgive()
        return found

    def unanswered(self, known: Collection[Endpoint]) -> dict[str, str]:
        """{address that led to no broker: why}. Waits for those that are still being asked."""
        asked = {e: task for e, task in self._tasks.items() if e not in known}
        lost = {e: task for e, task in asked.items() if task.result(self._deadline) is None}
        self._forgive()
        return {str(e): task.error.removeprefix(f"{task.name}: ") for e, task in lost.items()}

    def _forgive(self) -> None:
        """Every broker is asked again under its own name: a dead bootstrap address alone hides nothing."""
        for task in self._tasks.values():
            self._look.forgive(task.name)


def unreachable(look: Questions) -> UnreachableError:
    errors = [s.error for s in look.sources() if not s.ok]
    return UnreachableError(
        "the cluster cannot be reached: " + ("; ".join(errors) or "no address given"),
        hint="check the address, the listener's protocol (--command-config) and the network; nothing was read",
    )


def _own_id(endpoint: Endpoint, said: MetadataResponse) -> int | None:
    return next((i for i, e in said.brokers.items() if e == endpoint), None)
