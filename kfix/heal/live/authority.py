"""Reads the record of a live cluster from ZooKeeper; kraft_authority.py has the same methods for a KRaft quorum."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import TypeVar

from kfix.core.errors import UnreachableError
from kfix.core.harmless import one_line
from kfix.core.kafka import requests
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.snapshot.reading import BrokerRegistration, ConfigValue, NodeName, NodeRole, PartitionReading, StartMark
from kfix.core.snapshot.snapshot import Assignment, ControllerNode, Endpoint, PartitionView, TopicPartition
from kfix.core.snapshot.voters import QuorumVoters
from kfix.core.target import Target
from kfix.core.timing import Deadline
from kfix.core.zookeeper import fresh
from kfix.core.zookeeper.connect import Connect, open_line
from kfix.core.zookeeper.records import BadRecordError
from kfix.core.zookeeper.wire import ZooKeeperLine
from kfix.core.zookeeper.witnesses import ROUNDS
from kfix.heal.live.lines import BrokerLines

T = TypeVar("T")
#: Timeout: a second server that hangs must not use up the first one's time; it is not asked at every step.
_WITNESS_SECONDS = 1.0
_MUTE_SECONDS = 30.0


class ZooKeeperAuthority:
    """ZooKeeper's record, over one session that is reopened when it breaks, and a second session with another server.

    Facts that a run reads before a change must be the same at both; a single server may be wrong (docs/adr/036). Each
    method but `close` and `address` raises UnreachableError if no server answers.
    """

    def __init__(self, target: Target, connect: Connect) -> None:
        self._target = target
        self._connect = connect
        self._session: ZooKeeperLine | None = None
        self._witness: ZooKeeperLine | None = None
        #: Servers that gave no second session, and since when (monotonic, in seconds).
        self._mute: dict[Endpoint, float] = {}

    def close(self) -> None:
        if self._session is not None:
            self._session.__exit__(None, None, None)
        self._session = None
        self._dismiss()

    def _dismiss(self) -> None:
        if self._witness is not None:
            self._witness.close()
        self._witness = None

    def registered(self) -> frozenset[int]:
        return self._ask(lambda line, end: fresh.read_registered(line, self._connect, end))

    def registration(self, broker: int) -> BrokerRegistration:
        raise UnreachableError(f"broker {broker}: with ZooKeeper its registration ends with its session")

    def voters(self) -> QuorumVoters:
        raise UnreachableError("a cluster with ZooKeeper has no voters")

    def active_controller(self) -> Endpoint:
        raise UnreachableError("a cluster with ZooKeeper has no voters")

    def address(self, broker: int) -> Endpoint | None:
        """Returns the registered address; None if it is unknown, or if nothing answers."""
        protocol = self._target.security.protocol
        with contextlib.suppress(UnreachableError):
            return self._ask(lambda line, end: fresh.read_endpoint(line, self._connect, broker, protocol, end))
        return None

    def start_mark(self) -> StartMark:
        return StartMark(max(self._registered_at().values(), default=0))

    def starts_since(self, mark: StartMark) -> Mapping[NodeName, int]:
        return {(NodeRole.BROKER, b): at for b, at in self._registered_at().items() if at > mark.number}

    def _registered_at(self) -> Mapping[int, int]:
        return self._ask(lambda line, end: fresh.read_registered_at(line, self._connect, end))

    def controller(self) -> ControllerNode:
        return self._ask(lambda line, end: fresh.read_controller(line, self._connect, end))[0]

    def migrating(self) -> bool:
        return self._ask(lambda line, end: fresh.read_controller(line, self._connect, end))[1]

    def partition(self, tp: TopicPartition) -> PartitionReading:
        return self._ask(lambda line, end: fresh.read_partition(line, self._connect, tp, end))

    def every_partition(self) -> Mapping[TopicPartition, PartitionReading]:
        # Too many to read twice: `partition` reads again what a change rests on.
        return self._ask_one(lambda line, end: fresh.read_every_partition(line, self._connect, end), self._end())

    def partition_count(self, topic: str) -> int:
        return len(self.assignments(topic))

    def assignments(self, topic: str) -> Mapping[TopicPartition, Assignment]:
        return self._ask(lambda line, end: fresh.read_assignments(line, self._connect, topic, end))

    def reassignments(self, lines: BrokerLines) -> Mapping[TopicPartition, Assignment]:
        controller = self.controller().broker
        if controller is None:
            raise UnreachableError("there is no active controller, so reassignments cannot be read")
        end = Deadline.after(self._target.timeout)
        error, found = lines.ask(controller, lambda line: line.call(requests.list_reassignments(), end), end)
        if error:
            raise UnreachableError(f"broker {controller}: reassignments: {name_of(error)}")
        return found

    def view(self, line: BrokerConnection, tp: TopicPartition, deadline: Deadline) -> PartitionView | None:
        """Returns the partition in the metadata of one broker."""
        return line.call(requests.metadata((tp.topic,)), deadline).partitions.get(tp)

    def door(self) -> int | None:
        return self.controller().broker

    def unclean(self, topic: str) -> ConfigValue | None:  # noqa: ARG002 - the controller is one of the brokers
        """Returns the topic's unclean.leader.election.enable at the controller that would elect.

        None with ZooKeeper; on KRaft the value is None if that controller cannot be asked.
        """
        return None

    def _end(self) -> Deadline:
        return Deadline.after(self._target.timeout)

    def _ask(self, ask: Callable[[ZooKeeperLine, Deadline], T]) -> T:
        """Reads from two servers, if a second one answers. Raises UnreachableError if they contradict each other."""
        end = self._end()
        difference = ""
        for pause in ROUNDS:
            time.sleep(min(pause, end.left))
            found = self._ask_one(ask, end)
            known, witness = self._witness is not None, self._second(end)
            if witness is None or self._session is None:
                return found
            both = f"zookeeper {self._session.endpoint} and {witness.endpoint} contradict each other"
            try:
                there = ask(witness, end.within(_WITNESS_SECONDS))
            except BadRecordError as error:
                difference = f"{both}: only the second one shows {error.path} with invalid content"
                continue
            except UnreachableError:
                # A session may end while a person decides at a gate; another one is opened.
                self._dismiss()
                if known:
                    continue
                self._mute[witness.endpoint] = time.monotonic()
                return found
            if found == there:
                return found
            difference = f"{both}: {_difference(found, there)}"
        raise UnreachableError(
            difference or "the servers of ZooKeeper cannot be compared: a second one ended each session",
            hint="find out which of them belong to the brokers' ensemble, and give only those: --zookeeper",
        )

    def _second(self, end: Deadline) -> ZooKeeperLine | None:
        """Returns a session with another server; None if no other server has a quorum."""
        if self._witness is not None or self._session is None:
            return self._witness
        for server in self._connect.servers:
            muted = time.monotonic() - self._mute.get(server, -_MUTE_SECONDS) < _MUTE_SECONDS
            if server == self._session.endpoint or muted:
                continue
            with contextlib.suppress(UnreachableError):
                line = ZooKeeperLine(server, end.within(_WITNESS_SECONDS), access=self._connect.access)
                if not line.read_only:
                    self._witness = line
                    return line
                line.close()
            self._mute[server] = time.monotonic()
        return None

    def _ask_one(self, ask: Callable[[ZooKeeperLine, Deadline], T], end: Deadline) -> T:
        """Reads from ZooKeeper, and reopens a broken session once; repeating a read changes nothing."""
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
        """Reads over this session, and closes it after a failure: a late response must not reach a later request."""
        try:
            return ask(session, end)
        except BaseException:
            self.close()
            raise


def _difference(here: object, there: object, name: str = "the content") -> str:
    """Returns the first difference of two readings in words."""
    if isinstance(here, tuple) and isinstance(there, tuple) and len(here) == len(there):
        names = getattr(here, "_fields", [name] * len(here))
        pairs: Iterable[tuple[str, object, object]] = zip(names, here, there, strict=True)
    elif is_dataclass(here) and type(here) is type(there):
        pairs = ((each.name, getattr(here, each.name), getattr(there, each.name)) for each in fields(here))
    else:
        return one_line(f"{name.replace('_', ' ')} is {_in_words(here)} at the first, {_in_words(there)} at the second")
    return next((_difference(one, other, what) for what, one, other in pairs if one != other), name)


def _in_words(value: object) -> str:
    if isinstance(value, frozenset):
        return f"[{', '.join(map(str, sorted(value)))}]"
    return "missing" if value is None else str(value)[:120]
