"""One wrong record in ZooKeeper costs itself: it is named, everything else is judged, and nothing is called healthy."""

import io
import json
import struct

import pytest
from rich.console import Console

from kfix.core.collect.collector import collect
from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.codec import ByteReader, ProtocolError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.target import make_target
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import open_line, parse_connect
from kfix.core.zookeeper.wire import get
from kfix.diagnose.report.table import print_findings
from kfix.diagnose.report.verdict import exit_code
from kfix_diagnostics.engine import diagnose
from tests.listening import listening
from tests.proofs.fuzz import healthy
from tests.proofs.fuzz.servers import Broker, ZooKeeperServer
from tests.wire import Writer
from tests.zookeeper_view import read_view

ORDERS = TopicPartition("orders", 0)
STATE = "/brokers/topics/orders/partitions/0/state"


@pytest.fixture
def world():
    """A broker and a ZooKeeper server on loopback; brokers 2 and 3 are registered and refuse connections."""
    zookeeper, broker = ZooKeeperServer(children=healthy.lists()), Broker(versions=healthy.VERSIONS)
    with listening(zookeeper.talk) as at, listening(broker.talk) as there:
        broker.answers = healthy.answers(there.port)
        values = healthy.znodes(there.port)
        yield zookeeper, values, at, there


def looked(world):
    zookeeper, values, at, there = world
    zookeeper.nodes = {p: v if isinstance(v, bytes) else json.dumps(v).encode() for p, v in values.items()}
    return collect(make_target(str(there), str(at), timeout=5.0))


def printed(diagnosis):
    out = io.StringIO()
    print_findings(diagnosis, Console(file=out, markup=False, width=200))
    return out.getvalue()


def test_a_registration_with_a_rack_that_is_no_text_does_not_end_the_diagnosis(world):
    world[1]["/brokers/ids/2"]["rack"] = {}
    snapshot = looked(world)
    assert sorted(snapshot.zookeeper.registrations) == [1, 2, 3], "that the znode exists says that the broker lives"
    assert snapshot.zookeeper.registrations[2].rack is None
    assert snapshot.zookeeper.registrations[2].endpoint.port == 1
    [source] = [s for s in snapshot.failed_sources if s.name.startswith("znode")]
    assert (source.name, source.error) == ("znode /brokers/ids/2", "rack: expected text, not an object")
    assert len(snapshot.zookeeper.states) == 5
    diagnosis = diagnose(snapshot)
    assert exit_code(diagnosis) in {21, 22}
    assert "rack: expected text, not an object" in printed(diagnosis)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"[" * 100_000, "does not contain the JSON that Kafka writes"),
        (b"\xff\xfe", "does not contain the JSON that Kafka writes"),
        (b"[1]", "does not contain the JSON that Kafka writes"),
    ],
)
def test_a_registration_of_garbage_is_a_registration(world, data, why):
    world[1]["/brokers/ids/3"] = data
    snapshot = looked(world)
    assert snapshot.zookeeper.registrations[3].endpoint is None
    [source] = [s for s in snapshot.failed_sources if s.name == "znode /brokers/ids/3"]
    assert why in source.error
    assert exit_code(diagnose(snapshot)) in {21, 22}


def test_a_registration_is_dated_by_zookeepers_clock_as_every_other_znode(world):
    world[1]["/brokers/ids/2"]["timestamp"] = "9999999999999"
    registrations = looked(world).zookeeper.registrations
    assert registrations[2].registered_ms == registrations[3].registered_ms < 9999999999999


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"leader": "1"}, "leader: wanted a whole number, not '1'"),
        ({"leader": 2**31}, "leader: 2147483648 is out of range"),
        ({"leader": 10**30}, "leader: 1000000000000000000000000000000 is out of range"),
        ({"leader": True}, "leader: wanted a whole number, not true"),
        ({"leader_epoch": 1.5}, "leader_epoch: wanted a whole number, not 1.5"),
        ({"isr": {"1": 2}}, "isr: wanted a list, not an object"),
        ({"isr": [1, None]}, "isr[1]: wanted a whole number, not null"),
        ({"controller_epoch": None}, "controller_epoch: wanted a whole number, not null"),
    ],
)
def test_a_wrong_state_costs_its_partition_and_no_other(world, change, why):
    world[1][STATE] |= change
    snapshot = looked(world)
    assert ORDERS not in snapshot.zookeeper.states
    assert len(snapshot.zookeeper.states) == 4
    unread = {s.name: s.error for s in snapshot.failed_sources if s.name.startswith("znode")}
    assert unread == {f"znode {STATE}": why}
    assert exit_code(diagnose(snapshot)) in {21, 22}


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        (
            "/brokers/topics/orders",
            {"partitions": {"0": [1], "\u00b2": [1]}},
            "partitions.\u00b2 (the key): wanted a whole number, not '\u00b2'",
        ),
        ("/brokers/topics/orders", {"partitions": []}, "partitions: wanted an object, not a list"),
        (
            "/brokers/topics/orders",
            {"partitions": {"0": "12"}},
            "partitions.0: wanted a list, not '12'",
        ),
        ("/config/topics/orders", {"config": {"a": 1}}, "config.a: wanted text, not 1"),
        ("/cluster/id", {"id": 7}, "id: wanted text, not 7"),
        ("/admin/reassign_partitions", {"partitions": [7]}, "partitions[0]: wanted an object, not 7"),
    ],
)
def test_every_other_record_that_is_wrong_is_named_by_its_path(world, path, value, name):
    world[1][path] = value
    snapshot = looked(world)
    [source] = [s for s in snapshot.failed_sources if s.name == f"znode {path}"]
    assert name in source.error
    assert exit_code(diagnose(snapshot)) in {21, 22}


def test_a_thousand_wrong_records_are_one_story(world):
    zookeeper, values, _, _ = world
    topics = tuple(f"t{n}" for n in range(200))
    zookeeper.children = {**healthy.lists(), "/brokers/topics": topics}
    values.update({f"/brokers/topics/{t}": {} for t in topics})
    names = [s.name for s in looked(world).failed_sources if s.name.startswith("znode")]
    assert len(names) == 51
    assert "znodes" in names


def test_half_a_character_in_a_record_can_be_saved_and_printed(world):
    world[1]["/brokers/ids/2"]["rack"] = "a\ud800b"
    assert looked(world).zookeeper.registrations[2].rack == "a?b"


def test_a_controller_that_is_no_broker_costs_zookeeper_and_not_the_brokers(world):
    world[1]["/controller"] = {"brokerid": {}}
    snapshot = looked(world)
    assert snapshot.zookeeper is None
    assert snapshot.views
    assert any(
        "/controller: brokerid: wanted a whole number, not an object" in s.error for s in snapshot.failed_sources
    )


@pytest.mark.parametrize("size", [-1, 2**31 - 1, (64 << 20) + 1])
def test_a_length_that_no_answer_of_zookeeper_has_is_refused_before_anything_is_read(world, size):
    zookeeper, _, at, _ = world
    zookeeper.nodes = {"/x": b"data"}
    zookeeper.bend = lambda frame: struct.pack(">i", size) + frame[4:]
    deadline = Deadline.after(5)
    with open_line(parse_connect(str(at)), deadline) as line, pytest.raises(UnreachableError, match="is not ZooKeeper"):
        line.read([get("/x")], deadline)


def test_more_children_than_bytes_are_a_broken_answer(world):
    zookeeper, _, at, _ = world
    zookeeper.nodes = {}
    ids = b"\0\0\0\1" + b"1"
    zookeeper.bend = lambda f: f[:20] + struct.pack(">i", 2**31 - 1) + f[24:] if ids in f else f
    with pytest.raises(UnreachableError, match="a broken response"):
        read_view(parse_connect(str(at)), "PLAINTEXT", Deadline.after(5))


@pytest.mark.parametrize(("isr", "offline"), [(-1, 0), (2**31 - 1, 0), (0, -1), (0, 2**31 - 1)])
def test_a_partition_with_an_impossible_number_of_replicas_is_not_the_protocol(isr, offline):
    w = Writer().i32(0).i32(0).string("c").i32(1).i32(1).i16(0).string("t").i8(0).i32(1)
    w.i16(0).i32(0).i32(1).i32(4).i32(0).i32(isr).i32(offline)
    with pytest.raises(ProtocolError):
        requests.metadata().decode(ByteReader(w.done()))


@pytest.mark.parametrize("port", [-1, 65_536, 2**31 - 1])
def test_a_broker_with_an_impossible_port_is_not_the_protocol(port):
    w = Writer().i32(0).array([1], lambda w, b: w.i32(b).string("h").i32(port).string(None)).string("c").i32(1).i32(0)
    with pytest.raises(ProtocolError, match="invalid port"):
        requests.metadata().decode(ByteReader(w.done()))


def test_an_election_without_a_result_is_no_crash():
    w = Writer().i32(0).i16(0).array(["t"], lambda w, t: w.string(t).i32(0))
    asked = requests.elect_leaders(TopicPartition("t", 0), unclean=False, timeout_ms=1)
    assert asked.decode(ByteReader(w.done())).error == 0


def test_what_was_asked_of_each_server_is_counted(world):
    zookeeper, _, at, there = world
    requests = []
    answer = zookeeper._answer
    zookeeper._answer = lambda xid, kind, path: requests.append(path) or answer(xid, kind, path)
    traffic = looked(world).traffic
    assert traffic[str(at)].requests == len(requests) + 2, "every read, srvr and cons"
    assert traffic[str(there)].connections <= 2, "never more than two connections with a broker"
    assert all(each.received > each.connections for each in (traffic[str(at)], traffic[str(there)]))
    # Brokers 2 and 3 refuse: nothing was asked of them.
    assert set(traffic) == {str(at), str(there)}
