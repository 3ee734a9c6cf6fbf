"""The snapshot that a cluster is opened with is judged before the first change, once, and only if it is fresh."""

from __future__ import annotations

import pytest

from kfix.core.access import Access
from kfix.core.errors import UnreachableError
from kfix.core.kafka import questions
from kfix.core.kafka.group_messages import FoundCoordinator
from kfix.core.kafka.security import Security
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import Assignment, Endpoint, TopicPartition
from kfix.core.timing import Deadline, DiagnosisTimes
from kfix.core.zookeeper import fresh
from kfix.core.zookeeper.connect import parse_connect
from kfix.core.zookeeper.lock import ZooKeeperLock
from kfix.core.zookeeper.wire import ZooKeeperLine
from kfix.heal.live import clusters as live
from kfix.heal.live.clusters import LiveClusters
from kfix.heal.live.lines import BrokerLines
from kfix.heal.live.reader import named_coordinator
from kfix_diagnostics.engine import diagnose
from tests.listening import listening
from tests.unit.core.fake_broker import configs
from tests.unit.diagnostics.clusters import base
from tests.unit.heal.live.test_lines import reply, session

# How a run reaches brokers that move, break or come later, and the lock where there is no ZooKeeper.

TP = TopicPartition("t", 0)
NOBODY = Endpoint("127.0.0.1", 1)


def lines(addresses, look_up):
    return BrokerLines(Security(), addresses, look_up)


def configs_of_t(line):
    return questions.ask_configs_of(line, ResourceKind.TOPIC, "t", ("a",), Deadline.after(3))


def test_a_broker_that_moved_is_asked_where_it_is_registered_now():
    broker, later = (configs(("a", "1", 1, False)) for _ in range(2))
    with broker.listening() as moved, later.listening() as added:
        known = lines({1: NOBODY}, {1: moved, 2: added}.get)
        assert known.ask(1, configs_of_t, Deadline.after(3))["a"].value == "1"
        assert known.line(1).endpoint == moved
        assert known.ask(2, configs_of_t, Deadline.after(3))["a"].value == "1"
        known.close()


def test_a_broker_that_is_nowhere_is_reported_with_its_id():
    known = lines({}, lambda _: None)
    with pytest.raises(UnreachableError, match="broker 3: is not registered"):
        known.ask(3, configs_of_t, Deadline.after(1))
    assert known.to((3,)) == {}
    with pytest.raises(UnreachableError, match="no registered broker"):
        known.ask_any((), lambda *_: 1, Deadline.after(1))


def test_a_line_that_broke_since_the_last_question_is_opened_again():
    broker = configs(("a", "1", 1, False))
    with broker.listening() as endpoint:
        known = lines({1: endpoint}, lambda _: None)
        assert known.ask(1, configs_of_t, Deadline.after(3))
        known.line(1)._socket.close()
        assert known.ask(1, configs_of_t, Deadline.after(3))["a"].value == "1"
        known.close()


def test_an_error_that_was_answered_is_not_asked_for_twice():
    broker = configs(error=3)
    with broker.listening() as endpoint:
        known = lines({1: endpoint, 2: endpoint}, lambda _: pytest.fail("was looked up"))
        with pytest.raises(UnreachableError, match="UNKNOWN_TOPIC"):
            known.ask_any((1, 2), lambda line, _: configs_of_t(line), Deadline.after(3))
        known.close()
    assert len(broker.asked) == 1


def test_a_dead_broker_gives_way_to_one_that_lives():
    with configs(("a", "1", 1, False)).listening() as endpoint:
        known = lines({1: NOBODY, 2: endpoint}, lambda _: None)
        assert known.ask_any((1, 2), lambda line, _: configs_of_t(line), Deadline.after(3))["a"].own
        known.close()


def test_the_error_of_one_broker_hides_no_coordinator_that_another_names():
    loading, there, dead = FoundCoordinator(14, -1, None), FoundCoordinator(0, 2, None), UnreachableError("dead")
    assert named_coordinator([dead, loading, there]) is there
    assert named_coordinator([dead, loading]) is loading
    with pytest.raises(UnreachableError, match="dead"):
        named_coordinator([dead])
    with pytest.raises(UnreachableError, match="no registered broker"):
        named_coordinator([])


# -- ZooKeeper


def from_zookeeper(data, read, *args):
    """Behind the answer to a sync, which comes first."""
    with (
        listening(session(reply(1, b"") + reply(2, data))) as endpoint,
        ZooKeeperLine(endpoint, Deadline.after(2)) as line,
    ):
        return read(line, parse_connect(str(endpoint)), *args, Deadline.after(2))


@pytest.mark.parametrize(("protocol", "port"), [("SASL_SSL", 2), ("PLAINTEXT", 1), ("SSL", 1)])
def test_a_brokers_address_is_that_of_the_listener_with_our_protocol(protocol, port):
    data = b"""{"endpoints":["IN://h:1","OUT://h:2"],"listener_security_protocol_map":{"IN":"PLAINTEXT","OUT":"SASL_SSL"}}"""
    assert from_zookeeper(data, fresh.read_endpoint, 7, protocol) == Endpoint("h", port)


def test_assignments_show_what_is_added_and_removed():
    data = b"""{"partitions":{"0":[4,2,1],"1":[1]},"adding_replicas":{"0":[4]},"removing_replicas":{"0":[1]}}"""
    assert from_zookeeper(data, fresh.read_assignments, "t") == {
        TP: Assignment((4, 2, 1), (4,), (1,)),
        TopicPartition("t", 1): Assignment((1,)),
    }


# -- the lock


def test_without_zookeeper_there_is_no_lock_and_no_noise():
    lock = ZooKeeperLock(parse_connect("127.0.0.1:1"), "mine", timeout=0.5)
    with pytest.raises(UnreachableError, match=r"cannot take the lock: .*; nothing was changed"):
        lock.take({"user": "ann"})
    assert not lock.held()
    lock.release()


ACCESS = Access("localhost:9092")


@pytest.fixture
def read(monkeypatch):
    """What was read: the options of each reading, instead of a cluster."""
    found = []
    monkeypatch.setattr(live, "read_cluster", lambda _, **options: found.append(("open", options)) or base().snapshot())
    monkeypatch.setattr(live, "open_cluster", lambda _, snapshot: snapshot)
    monkeypatch.setattr(live, "diagnose_once", lambda *_: found.append(("once", {})) or diagnose(base().snapshot()))
    return found


def test_a_fresh_snapshot_is_judged_once(read):
    clusters = LiveClusters()
    clusters.open(ACCESS)
    # Through `read_cluster`, which knows the brokers of earlier snapshots: a cut may be seen by them only.
    assert read == [("open", {"keep": False})]
    assert clusters.findings_before_change(ACCESS, DiagnosisTimes()) == ()
    assert len(read) == 1
    clusters.findings_before_change(ACCESS, DiagnosisTimes())
    assert read[1:] == [("once", {})]


def test_an_old_snapshot_or_one_of_another_cluster_is_not_judged(read, monkeypatch):
    clusters = LiveClusters()
    clusters.open(ACCESS)
    clusters.findings_before_change(Access("localhost:9093"), DiagnosisTimes())
    assert read[1:] == [("once", {})]
    monkeypatch.setattr(live, "_FRESH_SECONDS", -1.0)
    clusters.open(ACCESS)
    clusters.findings_before_change(ACCESS, DiagnosisTimes())
    assert [what for what, _ in read] == ["open", "once", "open", "once"]
