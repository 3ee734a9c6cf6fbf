"""Finding the cluster: all bootstrap servers are asked at once, so that dead ones cost no time."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from kfix.adapters.collect.broker import ask_brokers, ask_configs
from kfix.adapters.collect.tasks import Look, first_answer
from kfix.adapters.deadline import Deadline
from kfix.adapters.kafka.connection import BrokerConnection
from kfix.adapters.kafka.responses import Metadata
from kfix.adapters.target import Target
from kfix.errors import UnreachableError
from kfix.model.snapshot import Endpoint


@dataclass(frozen=True, slots=True)
class Bootstrapped:
    """`metadata` without partitions: who is there, fast. `broker` is the id behind the connection, None where its own
    list names another address; then its `configs` cannot be asked for.
    """

    metadata: Metadata
    connection: BrokerConnection
    broker: int | None
    configs: Mapping[str, str]


class _Race:
    """The first to arrive keeps its connection open; the others close theirs."""

    def __init__(self, target: Target, deadline: Deadline) -> None:
        self._target = target
        self._deadline = deadline
        self._won = threading.Lock()

    def ask(self, endpoint: Endpoint) -> Bootstrapped | None:
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
            return None
        return Bootstrapped(said, connection, own, configs)


def bootstrap(look: Look, target: Target, deadline: Deadline) -> Bootstrapped | None:
    """None, with the errors in `look`, where no bootstrap server answers."""
    race = _Race(target, deadline)
    tasks = [look.start(f"bootstrap {e}", lambda e=e: race.ask(e)) for e in target.bootstrap]  # type: ignore[misc]
    booted = first_answer(tasks, deadline)
    if booted is not None:
        # Every broker is asked again under its own name: a dead bootstrap address alone hides nothing.
        for task in tasks:
            look.forgive(task.name)
    return booted


def unreachable(look: Look) -> UnreachableError:
    errors = [s.error for s in look.sources() if not s.ok]
    return UnreachableError(
        "the cluster cannot be reached: " + ("; ".join(errors) or "no address given"),
        hint="check the address, the listener's protocol (--command-config) and the network; nothing was read",
    )


def _own_id(endpoint: Endpoint, said: Metadata) -> int | None:
    return next((i for i, e in said.brokers.items() if e == endpoint), None)
