"""The lines of a live cluster: a late answer is nobody else's, a hung broker delays no fact, one cluster is one."""

import struct
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from kfix.core.collect.authority import ZooKeeperAnswer
from kfix.core.collect.collector import _Collection
from kfix.core.collect.options import CollectOptions
from kfix.core.collect.tasks import Questions, as_finished
from kfix.core.errors import UnreachableError, UsageError
from kfix.core.kafka.security import Security
from kfix.core.snapshot.reading import PartitionReading
from kfix.core.snapshot.snapshot import (
    Assignment,
    ClusterIdentity,
    ControllerNode,
    Endpoint,
    Mode,
    PartitionView,
    TopicPartition,
)
from kfix.core.target import Target, make_target
from kfix.core.timing import Deadline
from kfix.core.zookeeper import records
from kfix.core.zookeeper.connect import parse_connect
from kfix.core.zookeeper.wire import Node, ZnodeStat, ZooKeeperLine, get
from kfix.heal.live import authority
from kfix.heal.live import changer as live_changer
from kfix.heal.live.authority import ZooKeeperAuthority
from kfix.heal.live.changer import LiveChanger
from kfix.heal.live.reader import LiveReader
from tests.listening import listening

TP = TopicPartition("t", 0)
IDENTITY = ClusterIdentity("mine", Mode.ZOOKEEPER, "b:1", "z:1")
STAT = ZnodeStat(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def reply(xid: int, data: bytes) -> bytes:
    body = struct.pack(">iqi", xid, 0, 0) + struct.pack(">i", len(data)) + data + struct.pack(">qqqqiiiqiiq", *STAT)
    return struct.pack(">i", len(body)) + body


def session(*answers: bytes):
    def talk(line):
        line.recv(100)
        line.sendall(struct.pack(">iiiqi16s?", 37, 0, 30_000, 1, 16, bytes(16), False))
        for answer in answers:
            line.recv(1000)
            line.sendall(answer)

    return talk


def test_an_answer_to_an_earlier_question_is_not_taken_for_this_one() -> None:
    talk = session(reply(1, b"one"), reply(1, b"late"))
    with listening(talk) as endpoint, ZooKeeperLine(endpoint, Deadline.after(2)) as line:
        [node] = line.read([get("/one")], Deadline.after(2))
        assert node is not None
        assert node.data == b"one"
        with pytest.raises(UnreachableError, match="answered a different request than /two"):
            line.read([get("/two")], Deadline.after(2))


def test_a_session_on_which_a_read_failed_is_never_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[SimpleNamespace] = []

    def open_line(_connect, _end):
        opened.append(SimpleNamespace(read_only=False, closed=False, endpoint=Endpoint("z", 1)))
        opened[-1].__exit__ = lambda *_: setattr(opened[-1], "closed", True)
        return opened[-1]

    answers = iter([UnreachableError("late"), frozenset({1})])

    def read_registered(_line, _connect, _end):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(authority, "open_line", open_line)
    monkeypatch.setattr("kfix.core.zookeeper.fresh.read_registered", read_registered)
    reader = LiveReader(Target(()), ZooKeeperAuthority(Target(()), parse_connect("z:1")), IDENTITY, {})
    with pytest.raises(UnreachableError, match="late"):
        reader.registered_brokers()
    assert opened[0].closed
    assert reader.registered_brokers() == {1}
    assert len(opened) == 2


def test_a_change_is_not_sent_to_a_broker_of_another_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    class Line:
        def __init__(self, *_args, **_kwargs) -> None: ...

        def __enter__(self):
            return self

        def __exit__(self, *_args) -> None: ...

        def call(self, request, _deadline):
            calls.append(request.api_key)
            return SimpleNamespace(cluster_id="theirs")

    monkeypatch.setattr(live_changer, "BrokerConnection", Line)
    reader = SimpleNamespace(
        door=lambda: 1,
        controller=lambda: ControllerNode(1, 0, 0, 1, 1, 0),
        address=lambda _: Endpoint("b", 1),
        identity=lambda: IDENTITY,
    )
    result = LiveChanger(Target(()), parse_connect("z:1"), reader).elect(TP, unclean=True)  # type: ignore[arg-type]
    assert (result.code, result.name) == (41, "NOT_SENT")
    assert "is of cluster theirs, not of mine" in result.message
    assert len(calls) == 1


def test_brokers_of_one_cluster_and_the_zookeeper_of_another_are_refused() -> None:
    collection = _Collection(make_target("b:1", None), CollectOptions())
    booted: Any = SimpleNamespace(
        metadata=SimpleNamespace(cluster_id="theirs", brokers={}), configs={"zookeeper.connect": "z:1"}, broker=1
    )
    with pytest.raises(UsageError, match="two clusters"):
        collection._read_brokers(booted, lambda: ZooKeeperAnswer("mine", None, "z:1"))


def test_a_hung_broker_does_not_keep_zookeeper_from_being_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hung one is asked first; the settings of the second must be used while there is time left."""
    never = threading.Event()
    collection = _Collection(make_target("b:1", None, timeout=2), CollectOptions())
    look: Any = Questions()
    said = SimpleNamespace(configs={"zookeeper.connect": "z:1/k"}, problems=())
    collection._tasks = {
        1: look.start("broker 1", never.wait),
        2: look.start("broker 2", lambda: said),
    }
    left: list[float] = []

    def question(_look, connect, _target, deadline, *_more):
        left.append(deadline.left)
        return lambda: ZooKeeperAnswer("", None, str(connect))

    monkeypatch.setattr("kfix.core.collect.collector.ask_zookeeper", question)
    mode, _ = collection._named_by_others()
    never.set()
    assert mode is Mode.ZOOKEEPER
    assert left[0] > 0.5


def test_what_is_not_finished_comes_last() -> None:
    never = threading.Event()
    look: Any = Questions()
    tasks: list[Any] = [look.start("hung", never.wait), look.start("quick", lambda: 1)]
    assert [t.name for t in as_finished(tasks, Deadline.after(0.2))] == ["quick", "hung"]
    never.set()


def test_facts_are_read_without_asking_any_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    zookeeper = ZooKeeperAuthority(Target(()), parse_connect("z:1"))
    reader = LiveReader(Target((), security=Security()), zookeeper, IDENTITY, {1: Endpoint("b", 1)})
    monkeypatch.setattr(zookeeper, "_ask", lambda _ask: "what ZooKeeper says")
    monkeypatch.setattr(reader, "_views", lambda *_: pytest.fail("a broker was asked"))
    said: Any = reader.recorded(TP)
    assert said == "what ZooKeeper says"


def znode(data: bytes) -> Node:
    return Node(data, (), STAT)


@pytest.mark.parametrize("data", [b'{"brokerid":"x"}', b"{}", b'{"brokerid":null}'])
def test_a_damaged_controller_node_is_unreadable_not_a_traceback(data: bytes) -> None:
    with pytest.raises(UnreachableError, match="zookeeper: /controller"):
        records.controller(znode(data), znode(b"3"))


def test_a_controller_epoch_that_is_no_number_is_unknown_and_not_0() -> None:
    with pytest.raises(UnreachableError, match="zookeeper: /controller"):
        records.controller(znode(b'{"brokerid":1}'), znode(b"three"))


def test_a_hand_written_reassignment_that_is_wrong_is_reported() -> None:
    with pytest.raises(UnreachableError, match=r"/admin/reassign_partitions: partitions\[0\]: lacks partition"):
        records.reassigning(znode(b'{"partitions":[{"topic":"t"}]}'))


@pytest.mark.parametrize("host", ["a..b", "a" * 70])
def test_a_name_that_dns_cannot_be_asked_for_is_one_clear_error(host: str) -> None:
    from kfix.core.kafka.connection import BrokerConnection

    with pytest.raises(UnreachableError, match="cannot be resolved"):
        BrokerConnection(Endpoint(host, 1), Security()).exchange([], Deadline.after(2))
    with pytest.raises(UnreachableError, match="cannot be resolved"):
        ZooKeeperLine(Endpoint(host, 1), Deadline.after(2))


def test_a_port_of_other_digits_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="is not HOST:PORT"):
        make_target("b:²", None)


def test_a_controller_that_cannot_be_learnt_means_not_sent_rather_than_unknown() -> None:
    def unreadable() -> None:
        raise UnreachableError("zookeeper z:1: connection refused")

    reader: Any = SimpleNamespace(door=unreadable, controller=unreadable)
    result = LiveChanger(Target(()), parse_connect("z:1"), reader).reassign(TP, (1,))
    assert (result.name, result.unknown) == ("NOT_SENT", False)


def test_every_partition_is_read_with_the_views_of_all_and_who_gave_none_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broker's own time-out is no reason to leave the others' views out, nor to take its silence for consent."""
    other = TopicPartition("t", 1)
    state = records.partition_state(znode(b'{"leader":1,"leader_epoch":2,"isr":[1,2],"controller_epoch":1}'), "x")
    recorded = {tp: PartitionReading(tp, state, Assignment((1, 2)), frozenset({1, 2})) for tp in (TP, other)}
    view = PartitionView(2, 1, (1, 2), (1, 2), (), 0)
    zookeeper = ZooKeeperAuthority(Target(()), parse_connect("z:1"))
    reader = LiveReader(Target((), security=Security()), zookeeper, IDENTITY, {})
    monkeypatch.setattr(reader, "registered_brokers", lambda: frozenset({1, 2}))
    monkeypatch.setattr(zookeeper, "_ask_one", lambda _ask, _end: recorded)
    answers = {1: {TP: view}, 2: UnreachableError("hung")}
    monkeypatch.setattr(reader, "_lines", SimpleNamespace(ask_each=lambda *_: answers, close=lambda: None))
    found = reader.every_partition()
    assert {tp: dict(each.views) for tp, each in found.items()} == {TP: {1: view}, other: {}}
    assert found[TP].diverged
    assert {each.errors for each in found.values()} == {("broker 2: hung",)}
