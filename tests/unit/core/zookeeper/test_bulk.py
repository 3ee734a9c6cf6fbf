"""Every way of reading many znodes returns the same: multiRead or getData, one session or four."""

import json
import random
import struct
from contextlib import ExitStack

import pytest

from kfix.core.errors import NoAnswerError, UnreachableError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline
from kfix.core.zookeeper.bulk import has_multi_read, read_many
from kfix.core.zookeeper.connect import parse_connect
from kfix.core.zookeeper.fresh import read_partition
from kfix.core.zookeeper.wire import ZooKeeperLine
from tests.each import for_each
from tests.listening import listening
from tests.proofs.fuzz.servers import ZooKeeperServer, stat
from tests.zookeeper_view import read_view

TP = TopicPartition("t", 0)
_STATES = [
    b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}',
    b'{"controller_epoch":7,"leader":-1,"version":1,"leader_epoch":4,"isr":[2]}',
    b'{ "isr" : [3, 1],\n "leader": 3, "leader_epoch": 2, "version": 1, "controller_epoch": 2 }',
    b'{"controller_epoch":1,"leader":"1","version":1,"leader_epoch":0,"isr":[1,2,3]}',
    b"",
]


def record(**fields):
    return json.dumps({"version": 1, **fields}).encode()


def cluster(seed):
    """Returns the znodes of a random cluster: hand-edited states, wrong ones, missing ones, empty topics."""
    chance = random.Random(seed)
    topics = [f"t{n}" for n in range(chance.randrange(1, 300))]
    nodes, stats = {}, {}
    for topic in topics:
        count = chance.choice([0, 1, 3, 40])
        nodes[f"/brokers/topics/{topic}"] = json.dumps(
            {"partitions": {str(p): [1, 2, 3] for p in range(count)}}
        ).encode()
        if chance.random() < 0.5:
            nodes[f"/config/topics/{topic}"] = json.dumps(
                {"config": {"retention.ms": str(chance.randrange(9))}}
            ).encode()
        for p in range(count):
            path = f"/brokers/topics/{topic}/partitions/{p}/state"
            if chance.random() < 0.98:
                nodes[path] = chance.choice(_STATES)
                stats[path] = stat(
                    mzxid=chance.randrange(1 << 40), mtime=chance.randrange(1 << 41), version=chance.randrange(9)
                )
    nodes["/controller"] = b'{"version":1,"brokerid":1,"timestamp":"1"}'
    lists = {
        "/brokers/ids": (),
        "/brokers/topics": tuple(topics),
        "/config/topics": tuple(t for t in topics if f"/config/topics/{t}" in nodes),
    }
    return ZooKeeperServer(nodes=nodes, children=lists, stats=stats)


@pytest.mark.parametrize("seed", range(6))
def test_both_ways_of_reading_make_the_same_view(seed, monkeypatch):
    server = cluster(seed)
    found = []
    for server.multi in (False, True):
        for lines in (1, 4):
            monkeypatch.setattr("kfix.core.zookeeper.view._READS_A_LINE", 10**9 if lines == 1 else 1)
            with listening(server.talk) as at:
                cluster_id, view, unread = read_view(parse_connect(str(at)), "PLAINTEXT", Deadline.after(20))
            # The order matters too: later steps take the first partitions of a kind.
            found.append(
                (cluster_id, list(view.states.items()), list(view.assignments.items()), view.topic_configs, unread)
            )
    assert found[0][1]
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("multi", [False, True])
def test_a_state_is_as_old_as_its_last_change_and_not_as_its_znode(multi):
    topic, path = "/brokers/topics/t", "/brokers/topics/t/partitions/0/state"
    nodes = {topic: b'{"partitions":{"0":[1]}}', path: _STATES[0], "/controller": record(brokerid=1, timestamp="1")}
    lists = {"/brokers/ids": (), "/brokers/topics": ("t",), "/config/topics": ()}
    server = ZooKeeperServer(nodes=nodes, children=lists, stats={path: stat(ctime=5, mtime=9)}, multi=multi)
    with listening(server.talk) as at:
        connect = parse_connect(str(at))
        _, view, _ = read_view(connect, "PLAINTEXT", Deadline.after(20))
        with ZooKeeperLine(at, Deadline.after(20)) as line:
            reading = read_partition(line, connect, TP, Deadline.after(20))
    assert reading.state is not None
    assert (view.states[TP].mtime_ms, reading.state.mtime_ms) == (9, 9)


@pytest.fixture
def server():
    return ZooKeeperServer(nodes={f"/n{n}": str(n).encode() for n in range(0, 2_000, 2)})


def read(server, count=2_000, lines=1, seconds=10.0):
    deadline = Deadline.after(seconds)
    with listening(server.talk) as at, ExitStack() as stack:
        sessions = [stack.enter_context(ZooKeeperLine(at, deadline)) for _ in range(lines)]
        for session in sessions:
            session.multi_read = has_multi_read(session, deadline)
        return read_many(sessions, [f"/n{n}" for n in range(count)], lambda _, data, *__: data, deadline)


@for_each("multi", [False, True])
@for_each("lines", [1, 2, 4])
@for_each("count", [0, 1, 49, 50, 51, 400, 401, 2_000])
def test_a_missing_znode_is_none_and_the_order_is_that_of_the_paths(server, multi, lines, count):
    server.multi = multi
    assert read(server, count, lines) == [None if n % 2 else str(n).encode() for n in range(count)]


@pytest.mark.parametrize(("multi", "count"), [(False, 0), (True, 5)])
def test_an_older_server_is_never_asked_for_multi_read(server, multi, count):
    asked = []
    answer = server._answer_all
    server._answer_all = lambda xid, body: asked.append(xid) or answer(xid, body)
    server.multi = multi
    assert read(server)[2] == b"2"
    assert len(asked) == count


@for_each("multi", [False, True])
@for_each(
    "bend",
    [
        lambda frame: frame[:-30],
        lambda frame: struct.pack(">i", len(frame) - 34) + frame[4:-30],
        lambda frame: struct.pack(">i", -1) + frame[4:],
        lambda frame: struct.pack(">i", (64 << 20) + 1) + frame[4:],
        lambda frame: frame[:4] + struct.pack(">i", 7_000) + frame[8:],
        lambda frame: frame[:16] + struct.pack(">i", -102) + frame[20:],
        lambda frame: frame[:16] + struct.pack(">i", -4) + frame[20:],
        lambda frame: frame[:20] + b"\xff" * (len(frame) - 20),
        lambda frame: frame[:20] + b"\x7f" * (len(frame) - 20),
    ],
)
def test_a_broken_response_is_one_error_and_no_wrong_value(server, multi, bend):
    server.multi = multi
    server.bend = lambda frame: bend(frame) if len(frame) > 60 else frame
    with pytest.raises(UnreachableError):
        read(server, seconds=2.0)


def test_a_server_that_stops_answering_ends_at_the_deadline(server):
    server.multi = True
    server._answer_all = lambda *_: b""
    with pytest.raises(UnreachableError):
        read(server, seconds=0.5)


def test_silence_is_no_answer(server):
    seen = []

    def talk(line):
        server.talk_once = True
        head = line.recv(4)
        seen.append(head)
        line.recv(4096)
        line.sendall(struct.pack(">i", 37) + struct.pack(">iiqi16s?", 0, 30_000, 77, 16, bytes(16), False))
        while line.recv(4096):
            pass

    deadline = Deadline.after(0.4)
    with listening(talk) as at, ZooKeeperLine(at, deadline) as line, pytest.raises(NoAnswerError):
        read_many([line], ["/a"], lambda *_: 1, deadline)
