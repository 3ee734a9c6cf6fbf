"""The record of a KRaft cluster: the metadata of a broker that had applied everything committed so far.

A broker that is cut from the controllers keeps its metadata and answers with it. So the active controller first states
its high watermark. A broker's metadata counts only if its `finalized_features_epoch`, read before that on the same
connection, has reached the high watermark (docs/facts/kraft.md). If no broker has, nothing is known and nothing is
changed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from kfix.core.collect.quorum import ask_fenced
from kfix.core.collect.quorum_rows import last_fetch, now_of, replica_rows
from kfix.core.derive.elections import UNCLEAN
from kfix.core.errors import UnreachableError
from kfix.core.kafka import kraft_messages, requests
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.kraft_messages import DescribedQuorum, EligibleReplicas
from kfix.core.kafka.metadata import MetadataResponse
from kfix.core.snapshot.quorum import METADATA_FEATURE, EligibleLeaders
from kfix.core.snapshot.reading import (
    BrokerRegistration,
    ConfigValue,
    NodeLevels,
    NodeName,
    NodeRole,
    PartitionReading,
    RegisteredAs,
    StartMark,
)
from kfix.core.snapshot.recovery import AppliedMetadata
from kfix.core.snapshot.snapshot import (
    NO_LEADER,
    Assignment,
    ControllerNode,
    Endpoint,
    PartitionState,
    PartitionView,
    TopicPartition,
)
from kfix.core.snapshot.voters import QuorumVoters
from kfix.core.target import Target
from kfix.core.timing import Deadline
from kfix.heal.live.controllers import Controllers
from kfix.heal.live.hidden_topics import hidden_topics
from kfix.heal.live.lines import BrokerLines

#: Seconds between two requests to brokers that are a record behind.
_BETWEEN = 0.1
_LEAST_LEFT = 0.3
#: A follower applies a record within one fetch; a broker that has not after this many seconds is cut off.
_FOLLOWS = 1.5
_UNKNOWN = -1

Moves = Mapping[TopicPartition, Assignment]


class Newest(NamedTuple):
    """Metadata that holds everything committed up to the high watermark, and the broker that answered with it."""

    broker: int
    epoch: int
    metadata: MetadataResponse


class KraftAuthority:
    """`addresses` are brokers', `controllers` the controllers' listeners, as a snapshot shows them."""

    def __init__(
        self,
        target: Target,
        cluster_id: str,
        addresses: Mapping[int, Endpoint],
        controllers: Iterable[Endpoint],
    ) -> None:
        self._target = target
        self._cluster_id = cluster_id
        self._known = dict(addresses)
        self._lines = BrokerLines(target.security, addresses, self._known.get)
        self._controllers = Controllers(target.security, dict.fromkeys(controllers))
        self._order = list(self._known)
        self._high = self._epoch = _UNKNOWN
        self._described = DescribedQuorum(0)

    def close(self) -> None:
        self._lines.close()
        self._controllers.close()

    def registered(self) -> frozenset[int]:
        return frozenset(self._newest((), self._deadline()).metadata.brokers)

    def registration(self, broker: int) -> BrokerRegistration:
        """Also asks the address of a fenced broker: one that is only cut from the controllers answers there."""
        end = self._deadline()
        newest = self._newest(None, end)
        alive = newest.metadata.brokers
        fenced = self._lines.ask(newest.broker, lambda line: ask_fenced(line, end), end)
        state = RegisteredAs.UNREPORTED if fenced is None else RegisteredAs.ABSENT
        if broker in alive:
            state = RegisteredAs.ALIVE
        elif broker in (fenced or ()):
            state = RegisteredAs.FENCED
        moves = self._controllers.reassignments(end, self._reachable())
        assigned = {tp: set(view.replicas) for tp, view in newest.metadata.partitions.items()}
        for tp, move in moves.items():
            assigned.setdefault(tp, set()).update(move.replicas)
        quorum = self._described
        return BrokerRegistration(
            state=state,
            voter=any(each.node == broker for each in quorum.voters),
            answers=state is RegisteredAs.ALIVE or self._answers((fenced or self._known).get(broker), alive, end),
            fetched=last_fetch(quorum, broker),
            replicas=sum(broker in replicas for replicas in assigned.values()),
            hidden=hidden_topics(
                self._lines, newest.broker, alive, frozenset(tp.topic for tp in newest.metadata.partitions), end
            ),
        )

    def _answers(self, endpoint: Endpoint | None, alive: Mapping[int, Endpoint], end: Deadline) -> bool:
        """Returns whether a broker answers at this address; the address of another live broker does not count."""
        if endpoint is None or endpoint in alive.values():
            return False
        with BrokerConnection(endpoint, self._target.security) as line:
            try:
                line.call(kraft_messages.describe_features(), end.within(_FOLLOWS))
            except UnreachableError:
                return line.accepted
            return True

    def address(self, broker: int) -> Endpoint | None:
        with contextlib.suppress(UnreachableError):
            return self._newest((), self._deadline()).metadata.brokers.get(broker)
        return None

    def applied(self) -> AppliedMetadata:
        end = self._deadline()
        answers = self._lines.ask_each(tuple(self._known), lambda line: _ask(line, None, end), end)
        read = {broker: each for broker, each in answers.items() if not isinstance(each, UnreachableError)}
        read = {broker: each for broker, each in read.items() if each[1].cluster_id == self._cluster_id}
        if not read:
            raise UnreachableError(f"no broker answers: {'; '.join(map(str, answers.values()))}")
        newest = max(read.values(), key=lambda each: each[0])[1]
        named = sorted({*self._known, *newest.brokers})
        return AppliedMetadata({b: read[b][0] if b in read else _UNKNOWN for b in named}, newest.partitions)

    def controller(self) -> ControllerNode:
        active = self._controllers.active(self._deadline(), self._reachable())
        return ControllerNode(active.leader, _UNKNOWN, _UNKNOWN, active.epoch, _UNKNOWN, _UNKNOWN, active.epoch)

    def start_mark(self) -> StartMark:
        """The last committed record is of the active controller's epoch: a new one commits a record of its own."""
        self._active(self._deadline())
        return StartMark(self._high, self._epoch)

    def starts_since(self, mark: StartMark) -> Mapping[NodeName, int]:
        end = self._deadline()
        self._active(end)
        return self._controllers.starts_since(mark, self._described, end)

    def metadata_levels(self) -> Mapping[NodeName, NodeLevels]:
        """A voter whose address the active controller does not name (before 3.9) is one that does not answer."""
        end = self._deadline()
        newest = self._newest((), end)
        fenced = self._lines.ask(newest.broker, lambda line: ask_fenced(line, end), end) or {}
        brokers, named = {**fenced, **newest.metadata.brokers}, dict(self._described.nodes)
        asked: dict[NodeName, Endpoint | None] = {(NodeRole.BROKER, b): each for b, each in sorted(brokers.items())}
        voters = sorted({each.node for each in self._described.voters} - brokers.keys())
        asked |= {(NodeRole.CONTROLLER, node): named.get(node) for node in voters}

        def ask(name: NodeName) -> NodeLevels:
            return self._levels(asked[name], end, controller=name[0] is NodeRole.CONTROLLER)

        with ThreadPoolExecutor(max_workers=len(asked)) as pool:
            return dict(zip(asked, pool.map(ask, asked), strict=True))

    def _levels(self, endpoint: Endpoint | None, end: Deadline, *, controller: bool) -> NodeLevels:
        if endpoint is None:
            return NodeLevels(error="its address is not reported")
        with BrokerConnection(endpoint, self._target.security, controller=controller) as line:
            try:
                found = line.call(kraft_messages.describe_features(), end)
            except UnreachableError as error:
                return NodeLevels(error=str(error))
        levels = NodeLevels(found.finalized.get(METADATA_FEATURE, -1), found.supported.get(METADATA_FEATURE, -1))
        unread = levels.in_force < 0 or levels.supported < 0
        return NodeLevels(error=f"{endpoint} reports no metadata.version") if unread else levels

    def migrating(self) -> bool:
        return False

    def partition(self, tp: TopicPartition) -> PartitionReading:
        end = self._deadline()
        while True:
            newest, moves = self._with_moves((tp.topic,), end)
            view = newest.metadata.partitions.get(tp)
            if view is None:
                return PartitionReading(tp, None, None, frozenset(newest.metadata.brokers))
            if not _in_doubt(view):
                return _reading(tp, view, newest, moves, None)
            eligible = self._eligible(newest.broker, (tp,), end).get(tp)
            if eligible is None or (eligible.leader, eligible.leader_epoch) == (view.leader, view.leader_epoch):
                return _reading(tp, view, newest, moves, eligible)

    def every_partition(self) -> Mapping[TopicPartition, PartitionReading]:
        end = self._deadline()
        newest, moves = self._with_moves(None, end)
        found = newest.metadata.partitions
        doubtful = tuple(tp for tp, view in found.items() if _in_doubt(view))
        eligible = self._eligible(newest.broker, doubtful, end) if doubtful else {}
        return {tp: _reading(tp, view, newest, moves, eligible.get(tp)) for tp, view in found.items()}

    def partition_count(self, topic: str) -> int:
        return len(self._newest((topic,), self._deadline()).metadata.partitions)

    def assignments(self, topic: str) -> Mapping[TopicPartition, Assignment]:
        newest, moves = self._with_moves((topic,), self._deadline())
        return {tp: _assignment(tp, view, moves) for tp, view in newest.metadata.partitions.items()}

    def reassignments(self, _lines: BrokerLines) -> Moves:
        end = self._deadline()
        self._controllers.active(end, self._reachable())
        return self._controllers.reassignments(end, self._reachable())

    def view(self, line: BrokerConnection, tp: TopicPartition, deadline: Deadline) -> PartitionView | None:
        """Waits briefly for a broker that is a record behind; a broker that is cut answers as it is."""
        until = deadline.within(_FOLLOWS)
        while True:
            offset, metadata = _ask(line, (tp.topic,), deadline)
            if offset >= self._high - 1 or until.left < _LEAST_LEFT:
                return metadata.partitions.get(tp)
            time.sleep(_BETWEEN)

    def voters(self) -> QuorumVoters:
        end = self._deadline()
        self._active(end)
        registered, found = self._controllers.registered(end), self._described
        now, listener = now_of(found), f"{found.listeners[0]}://" if len(found.listeners) == 1 else ""
        return QuorumVoters(
            leader=found.leader,
            high_watermark=found.high_watermark,
            voters=replica_rows(found.voters, now),
            observers=replica_rows(found.observers, now),
            controllers={node: f"{listener}{endpoint}" for node, endpoint in registered.items()},
        )

    def active_controller(self) -> Endpoint:
        """Returns the listener of the active controller. Raises UnreachableError if none of a controller answers."""
        self._active(self._deadline())
        return self._controllers.active_endpoint

    def door(self) -> int | None:
        return self._newest((), self._deadline()).broker

    def unclean(self, topic: str) -> ConfigValue:
        end = self._deadline()
        self._controllers.active(end.within(end.left * 0.6), self._reachable())
        found = self._controllers.topic_configs(topic, (UNCLEAN,), end)
        return found.get(UNCLEAN, ConfigValue(None, own=False))

    def _deadline(self) -> Deadline:
        return Deadline.after(self._target.timeout)

    def _reachable(self) -> list[BrokerConnection]:
        """Returns the connection to the broker that answered last, if there is one."""
        lines = self._lines.to(self._order[:1])
        return list(lines.values())

    def _with_moves(self, topics: tuple[str, ...] | None, end: Deadline) -> tuple[Newest, Moves]:
        """Reads the moves before the metadata: a move that ends in between still counts as in progress."""
        self._active(end)
        moves = self._controllers.reassignments(end, self._reachable())
        return self._newest(topics, end, asked=True), moves

    def _active(self, end: Deadline) -> int:
        active = self._controllers.active(end.within(end.left * 0.6), self._reachable())
        self._high = active.high_watermark
        self._epoch = active.epoch
        self._described = active
        return active.epoch

    def _newest(self, topics: tuple[str, ...] | None, end: Deadline, *, asked: bool = False) -> Newest:
        """Returns the metadata of these topics (None: all). Raises UnreachableError if no broker is up to date.

        `asked` states that the active controller has just reported its high watermark.
        """
        epoch = self._epoch if asked else self._active(end)
        failed: dict[int, str] = {}
        while True:
            behind: dict[int, int] = {}
            for broker, until in self._turns(failed, end):
                try:
                    offset, metadata = self._lines.ask(broker, lambda line, u=until: _ask(line, topics, u), until)  # type: ignore[misc]
                except UnreachableError as error:
                    failed[broker] = str(error)
                    continue
                if self._cluster_id and metadata.cluster_id != self._cluster_id:
                    failed[broker] = f"broker {broker} is of cluster {metadata.cluster_id}"
                elif offset < self._high - 1:
                    behind[broker] = offset
                else:
                    self._learn(broker, metadata)
                    return Newest(broker, epoch, metadata)
            if not behind or end.left < _LEAST_LEFT:
                raise UnreachableError(self._too_old(behind, failed))
            time.sleep(_BETWEEN)

    def _turns(self, failed: Collection[int], end: Deadline) -> Iterator[tuple[int, Deadline]]:
        """Yields each broker with its share of the time, first the broker that answered last."""
        left = [b for b in self._order if b not in failed]
        for n, broker in enumerate(left):
            yield broker, end.within(end.left / (len(left) - n))

    def _learn(self, broker: int, metadata: MetadataResponse) -> None:
        self._known.update(metadata.brokers)
        others = [b for b in self._known if b != broker]
        self._order = [broker, *sorted(others, key=lambda b: b not in metadata.brokers)]

    def _too_old(self, behind: Mapping[int, int], failed: Mapping[int, str]) -> str:
        found = [f"broker {b} is at {offset}" for b, offset in behind.items()] + list(failed.values())
        why = "; ".join(found) or "no broker is known"
        return f"no broker has applied the metadata up to offset {self._high - 1}: {why}"

    def _eligible(
        self, broker: int, wanted: Collection[TopicPartition], end: Deadline
    ) -> dict[TopicPartition, EligibleReplicas]:
        """Returns who may lead these partitions; empty if the broker does not know the request (before 3.7)."""

        def ask(line: BrokerConnection) -> dict[TopicPartition, EligibleReplicas]:
            if not line.supports(kraft_messages.DESCRIBE_TOPIC_PARTITIONS, 0, end):
                return {}
            topics = tuple(sorted({tp.topic for tp in wanted}))
            found: dict[TopicPartition, EligibleReplicas] = {}
            start: TopicPartition | None = None
            while True:
                request = kraft_messages.describe_topic_partitions(topics, start)
                page, start = line.call(request, end)
                found |= {tp: each for tp, each in page.items() if tp in wanted}
                if start is None or not page or len(found) == len(wanted):
                    return found

        return self._lines.ask(broker, ask, end)


def _in_doubt(view: PartitionView) -> bool:
    """Whether the partition may have eligible leader replicas: only one with a short ISR has any."""
    return view.leader == NO_LEADER or len(view.isr) < len(view.replicas)


def _ask(line: BrokerConnection, topics: tuple[str, ...] | None, deadline: Deadline) -> tuple[int, MetadataResponse]:
    """Returns the metadata offset that the broker had applied, and then its metadata, which is at least as new."""
    offset = line.call(kraft_messages.describe_features(), deadline).epoch
    return offset, line.call(requests.metadata(topics), deadline)


def _reading(
    tp: TopicPartition, view: PartitionView, newest: Newest, moves: Moves, eligible: EligibleReplicas | None
) -> PartitionReading:
    """The leader epoch takes the place of the version of a state znode."""
    isr = view.isr if eligible is None else eligible.isr
    return PartitionReading(
        tp=tp,
        state=PartitionState(view.leader, view.leader_epoch, isr, newest.epoch, view.leader_epoch, _UNKNOWN, _UNKNOWN),
        assignment=_assignment(tp, view, moves),
        registered=frozenset(newest.metadata.brokers),
        eligible=None if eligible is None else EligibleLeaders(eligible.elr, eligible.last_known),
    )


def _assignment(tp: TopicPartition, view: PartitionView, moves: Moves) -> Assignment:
    """A move counts only if it is of these replicas: another move may have replaced it."""
    move = moves.get(tp)
    return move if move is not None and set(move.replicas) == set(view.replicas) else Assignment(view.replicas)
