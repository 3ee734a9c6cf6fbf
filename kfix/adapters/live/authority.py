"""Who a live cluster's record is read from: ZooKeeper, or a KRaft quorum (kraft_authority.py)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from kfix.adapters.deadline import Deadline
from kfix.adapters.kafka import requests, responses
from kfix.adapters.kafka.codes import name_of
from kfix.adapters.kafka.connection import BrokerConnection
from kfix.adapters.live.lines import BrokerLines
from kfix.adapters.target import Target
from kfix.adapters.zookeeper import fresh
from kfix.adapters.zookeeper.connect import Connect, open_line
from kfix.adapters.zookeeper.wire import ZooKeeperLine
from kfix.errors import UnreachableError
from kfix.model.cluster.reading import BrokerRegistration, PartitionReading
from kfix.model.cluster.snapshot import Assignment, ControllerNode, Endpoint, PartitionView, TopicPartition

T = TypeVar("T")


class RecordAuthority(Protocol):
    """Reads the record of a cluster, fresh and without the brokers' own views. Each method but `close` and `address`
    raises UnreachableError where the authority does not answer.
    """

    def close(self) -> None: ...

    def registered(self) -> frozenset[int]: ...

    def registration(self, broker: int) -> BrokerRegistration: ...

    def address(self, broker: int) -> Endpoint | None:
        """Returns the registered address; None where it is unknown, or where nothing answers."""
        ...

    def controller(self) -> ControllerNode: ...

    def migrating(self) -> bool: ...

    def partition(self, tp: TopicPartition) -> PartitionReading: ...

    def every_partition(self) -> Mapping[TopicPartition, PartitionReading]: ...

    def partition_count(self, topic: str) -> int: ...

    def assignments(self, topic: str) -> Mapping[TopicPartition, Assignment]: ...

    def reassignments(self, lines: BrokerLines) -> Mapping[TopicPartition, Assignment]: ...

    def view(self, line: BrokerConnection, tp: TopicPartition, deadline: Deadline) -> PartitionView | None:
        """Returns the partition in the metadata of one broker."""
        ...

    def door(self) -> int | None:
        """Returns the broker that takes a change of the cluster now; None where there is no active controller."""
        ...


class ZooKeeperAuthority:
    """ZooKeeper's record, over one session that is reopened when it breaks."""

    def __init__(self, target: Target, connect: Connect) -> None:
        self._target = target
        self._connect = connect
        self._session: ZooKeeperLine | None = None

    def close(self) -> None:
        if self._session is not None:
            self._session.__exit__(None, None, None)
        self._session = None

    def registered(self) -> frozenset[int]:
        return self._ask(lambda line, end: fresh.read_registered(line, self._connect, end))

    def registration(self, broker: int) -> BrokerRegistration:
        raise UnreachableError(f"broker {broker}: with ZooKeeper its registration ends with its session")

    def address(self, broker: int) -> Endpoint | None:
        protocol = self._target.security.protocol
        with contextlib.suppress(UnreachableError):
            return self._ask(lambda line, end: fresh.read_endpoint(line, self._connect, broker, protocol, end))
        return None

    def controller(self) -> ControllerNode:
        return self._ask(lambda line, end: fresh.read_controller(line, self._connect, end))[0]

    def migrating(self) -> bool:
        return self._ask(lambda line, end: fresh.read_controller(line, self._connect, end))[1]

    def partition(self, tp: TopicPartition) -> PartitionReading:
        return self._ask(lambda line, end: fresh.read_partition(line, self._connect, tp, end))

    def every_partition(self) -> Mapping[TopicPartition, PartitionReading]:
        return self._ask(lambda line, end: fresh.read_every_partition(line, self._connect, end))

    def partition_count(self, topic: str) -> int:
        return self._ask(lambda line, end: fresh.read_partition_count(line, self._connect, topic, end))

    def assignments(self, topic: str) -> Mapping[TopicPartition, Assignment]:
        return self._ask(lambda line, end: fresh.read_assignments(line, self._connect, topic, end))

    def reassignments(self, lines: BrokerLines) -> Mapping[TopicPartition, Assignment]:
        controller = self.controller().broker
        if controller is None:
            raise UnreachableError("there is no active controller, so reassignments cannot be read")
        end = Deadline.after(self._target.timeout)
        error, found = lines.ask(
            controller, lambda line: line.call(requests.list_reassignments(), responses.list_reassignments, end), end
        )
        if error:
            raise UnreachableError(f"broker {controller}: reassignments: {name_of(error)}")
        return found

    def view(self, line: BrokerConnection, tp: TopicPartition, deadline: Deadline) -> PartitionView | None:
        return line.call(requests.metadata((tp.topic,)), responses.metadata, deadline).partitions.get(tp)

    def door(self) -> int | None:
        return self.controller().broker

    def _ask(self, ask: Callable[[ZooKeeperLine, Deadline], T]) -> T:
        """Reads from ZooKeeper, and reopens a broken session once; repeating a read changes nothing."""
        end = Deadline.after(self._target.timeout)
        if self._session is not None:
            with contextlib.suppress(UnreachableError):
                return self._ask_session(self._session, ask, end)
        self._session = open_line(self._connect, end)
        if self._session.read_only:
            server = self._session.endpoint
            self.close()
            raise UnreachableError(f"zookeeper {server}: serves read-only, it has no quorum: its data may be stale")
        return self._ask_session(self._session, ask, end)

    def _ask_session(self, session: ZooKeeperLine, ask: Callable[[ZooKeeperLine, Deadline], T], end: Deadline) -> T:
        """Reads over this session, and closes it after a failure: late responses must not reach later requests."""
        try:
            return ask(session, end)
        except BaseException:
            self.close()
            raise
