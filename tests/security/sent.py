"""What a run sends, by the code itself: which requests each call of the ports makes, and which calls a runbook makes.

The calls of actions and probes are recorded on clusters in memory; the requests of a call by the adapters that talk to
real brokers, with a line that records. So the rights of `rights.OF_ACTIONS` cannot stay behind the code.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

from kfix.core.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kfix.core.errors import UnreachableError
from kfix.core.kafka import codes, group_messages, kraft_messages, requests
from kfix.core.kafka.api import Api, Request
from kfix.core.kafka.kraft_messages import DescribedQuorum
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.reading import ChangeResult, NodeRole, PartitionReading, ResourceKind, StartMark
from kfix.core.snapshot.recovery import NewLog
from kfix.core.snapshot.snapshot import Assignment, ClusterIdentity, Endpoint, PartitionState, TopicPartition
from kfix.core.snapshot.transactions import OpenBatch
from kfix.core.snapshot.voters import Joining
from kfix.core.target import make_target
from kfix.core.timing import Deadline
from kfix.heal.live.changer import LiveChanger
from kfix.heal.live.controllers import Controllers
from kfix.heal.live.reader import LiveReader, MarkerForm
from kfix.lab.definition.protocols import CLUSTER, READING, Right
from tests.security.rights import WORDS

TP = TopicPartition("orders", 0)
#: Of the log of each partition: an open transaction holds its last stable offset.
_STABLE, _END = 3, 5
_PARTITIONS = (TP, TopicPartition(OFFSETS_TOPIC, 0), TopicPartition(TRANSACTIONS_TOPIC, 0))
#: TOPIC_AUTHORIZATION_FAILED: no reader goes on after it.
_REFUSED = codes.TOPIC
_HERE = Endpoint("localhost", 1)
_RESOURCES = {
    codes.CLUSTER: "CLUSTER",
    codes.TOPIC: "TOPIC",
    codes.GROUP: "GROUP",
    codes.TRANSACTIONAL_ID: "TRANSACTIONAL_ID",
}
_OPERATIONS = {word: operation for operation, word in WORDS.items()}


class Called(NamedTuple):
    """One call of a port; `variant` is what its requests depend on: the kind of resource, or `delete`."""

    method: str
    variant: str = ""


@dataclass
class Recording:
    """Stands in for a cluster in memory; lists the calls of both ports."""

    cluster: Any
    called: set[Called] = field(default_factory=set)

    @property
    def changed(self) -> bool:
        return any(each.method in CHANGES for each in self.called)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.cluster, name)
        if name in {"reader", "changer"}:
            return self
        if name not in METHODS:
            return found

        def call(*args: Any, **named: Any) -> Any:
            self.called |= set(_variants(name, args))
            return found(*args, **named)

        return call


def _methods(port: type) -> frozenset[str]:
    return frozenset(name for name, each in vars(port).items() if callable(each) and not name.startswith("_"))


READS, CHANGES = _methods(ClusterReader), _methods(ClusterChanger)
METHODS = READS | CHANGES


def _variants(method: str, args: tuple[Any, ...]) -> Iterator[Called]:
    if method == "alter_configs":
        yield Called(method, str(args[0]))
    elif method == "commit_offsets":
        if any(each is None for each in args[1].values()):
            yield Called(method, "delete")
        if any(each is not None for each in args[1].values()):
            yield Called(method)
    else:
        yield Called(method)


_DISK = "AAAAAAAAAAAAAAAAAAAAAQ"
#: {call: how the adapter makes it}.
CHANGING: Mapping[Called, Callable[[LiveChanger], object]] = {
    Called("elect"): lambda it: (it.elect(TP, unclean=False), it.elect(TP, unclean=True)),
    Called("reassign"): lambda it: (it.reassign(TP, (1, 2)), it.reassign(TP, None)),
    Called("alter_configs", "topic"): lambda it: it.alter_configs(ResourceKind.TOPIC, "orders", {"a": "1"}),
    Called("alter_configs", "broker"): lambda it: it.alter_configs(ResourceKind.BROKER, "1", {"a": "1"}),
    Called("commit_offsets"): lambda it: it.commit_offsets("pay", {TP: StoredOffset(1)}),
    Called("commit_offsets", "delete"): lambda it: it.commit_offsets("pay", {TP: None}),
    Called("evict_member"): lambda it: it.evict_member("pay", "m", ""),
    Called("end_transaction"): lambda it: it.end_transaction(TP, "t", OpenBatch(0, 1, 0, 0), commit=True),
    Called("abort_transaction"): lambda it: it.abort_transaction("t", 1, 0, 60_000),
    Called("unregister_broker"): lambda it: it.unregister_broker(1),
    Called("delete_key"): lambda it: it.delete_key(TopicPartition("__consumer_offsets", 0), b"k"),
    Called("remove_voter"): lambda it: it.remove_voter(1, _DISK),
    Called("add_voter"): lambda it: it.add_voter(Joining(1, _DISK, "CONTROLLER://h:1")),
    Called("write_metadata_log"): lambda it: it.write_metadata_log(NewLog("/nowhere/new", "/nowhere", 1, 0, 0, 1)),
    Called("raise_metadata_version"): lambda it: it.raise_metadata_version(30),
    Called("restart_node"): lambda it: it.restart_node(NodeRole.BROKER, 1, "none {node}"),
    Called("reelect_controller"): lambda it: it.reelect_controller(epoch_version=1),
}
#: Those whose requests go to brokers beside the record of the authority, which a diagnosis reads, too.
READING_RECORDS: Mapping[Called, Callable[[LiveReader], object]] = {
    Called("log_ends"): lambda it: it.log_ends(TP, (1,)),
    Called("log_tails"): lambda it: it.log_tails(TP, (1,)),
    Called("stable_end"): lambda it: it.stable_end(TP),
    Called("last_generation"): lambda it: it.last_generation("pay"),
    Called("offsets_replay"): lambda it: it.offsets_replay(TP),
    Called("key_left"): lambda it: it.key_left(TP, b"k", 0),
    Called("transaction"): lambda it: it.transaction("t", 0),
    Called("open_batch"): lambda it: it.open_batch(TP),
    Called("hanging"): lambda it: it.hanging(TP),
    Called("logged_record"): lambda it: it.logged_record(TP, 0),
    Called("records_left"): lambda it: it.records_left(TP, 0),
    Called("served_to"): lambda it: it.served_to(TP, 0),
    Called("voters"): lambda it: it.voters(),
    Called("starts_since"): lambda it: it.starts_since(StartMark(0)),
    Called("probe_group"): lambda it: it.probe_group("pay"),
}


class Line:
    """A connection that records each request and answers as the leader of every partition would."""

    endpoint, is_open = _HERE, True

    def __init__(self) -> None:
        self.asked: set[Api] = set()

    def supports(self, *_: object) -> bool:
        return True

    def call(self, request: Request[Any], _deadline: object) -> Any:
        self.asked.add(request.api_key)
        if request.api_key == requests.LIST_OFFSETS:
            when, isolation = int.from_bytes(request.body[-8:], "big", signed=True), request.body[4]
            at = {requests.LATEST: _STABLE if isolation else _END, requests.EARLIEST: 0}.get(when)
            if at is None:  # by time: only the reader of transactions, which is a consumer, goes on from what it finds
                at = 0 if request.body[:4] == b"\xff" * 4 else -1
            return dict.fromkeys(_PARTITIONS, requests.PartitionOffset(0, at))
        if request.api_key == requests.FETCH:
            return requests.FetchedRecords(_REFUSED, -1, -1, b"")
        if request.api_key == kraft_messages.DESCRIBE_CLUSTER:
            return kraft_messages.DescribedCluster(0, "c", 1, ())
        if request.api_key == group_messages.FIND_COORDINATOR:
            return group_messages.FoundCoordinator(0, 1, _HERE)
        assert request.api_key == group_messages.OFFSET_FETCH, request.api_key
        return 0, {}

    def call_many(self, asked: Collection[Request[Any]], deadline: object) -> list[Any]:
        return [self.call(each, deadline) for each in asked]


def _changer(asked: set[tuple[Api, str]], kind: str) -> LiveChanger:
    """A changer that notes (API, what its resource is) instead of sending."""
    reader = SimpleNamespace(
        door=lambda: 1,
        coordinator=lambda _group: 1,
        transaction_coordinator=lambda _id: 1,
        leader=lambda _tp: 1,
        marker=lambda *_: MarkerForm(1, True, 0),
        identity=lambda: SimpleNamespace(id="c"),
    )
    changer = LiveChanger(make_target("localhost:1", None, None), None, reader)  # type: ignore[arg-type]

    def send(request: Request[Any], _broker: int) -> ChangeResult:
        asked.add((request.api_key, kind))
        return ChangeResult(0, "NONE")

    changer._send = send  # type: ignore[method-assign, assignment]
    changer._send_to_active = lambda request: send(request, 1)  # type: ignore[method-assign]
    return changer


def _reader(line: Line) -> LiveReader:
    reading = PartitionReading(TP, PartitionState(1, 0, (1,), 0, 0, 0, 0), Assignment((1,)), frozenset({1}))
    controllers = Controllers(make_target("localhost:1", None, None).security, ())
    controllers._lines[_HERE], controllers._last = line, _HERE  # type: ignore[assignment]
    active = DescribedQuorum(0, 1, 1, _END)
    authority = SimpleNamespace(
        starts_since=lambda mark: controllers.starts_since(mark, active, Deadline.after(1)),
        voters=lambda: controllers.registered(Deadline.after(1)),
        address=lambda _broker: _HERE,
        registered=lambda: frozenset({1}),
        partition=lambda tp: replace(reading, tp=tp),
        partition_count=lambda _topic: 1,
    )
    reader = LiveReader(make_target("localhost:1", None, None), authority, ClusterIdentity("c", ""), {})  # type: ignore[arg-type]
    reader._lines._lines[1] = line  # type: ignore[assignment]
    return reader


def rights_of(call: Called) -> frozenset[Right]:
    """Returns the rights that the requests of a call need besides those of a diagnosis."""
    if call in CHANGING:
        asked: set[tuple[Api, str]] = set()
        CHANGING[call](_changer(asked, call.variant))
    elif call in READING_RECORDS:
        line = Line()
        with contextlib.suppress(UnreachableError):
            READING_RECORDS[call](_reader(line))
        asked = {(api, "") for api in line.asked}
    else:
        assert call.method in READS, call
        return frozenset()
    found: set[Right] = set()
    for api, kind in asked:
        for error, word in api.operations.items():
            of_kind = {"topic": codes.TOPIC, "broker": codes.CLUSTER}.get(kind, error)
            if error == of_kind:
                resource = _RESOURCES[error]
                name = CLUSTER if resource == "CLUSTER" else "*"
                found.add(Right(_OPERATIONS[word], resource, name))
    return frozenset(found) - frozenset(READING)


def rights_of_all(calls: Collection[Called]) -> frozenset[Right]:
    return frozenset().union(*(rights_of(each) for each in calls))
