"""What one broker line says of servers that are not brokers, hang, close, or refuse: real sockets, no cluster."""

import struct
from dataclasses import replace

import pytest

from kfix.core.collect.collector import collect
from kfix.core.errors import ReadOnlyViolationError, UnreachableError, UsageError
from kfix.core.kafka import requests
from kfix.core.kafka.codec import ProtocolError
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.security import Security
from kfix.core.snapshot.snapshot import Endpoint, TopicPartition
from kfix.core.target import make_target
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import open_line, parse_connect
from tests.each import for_each
from tests.listening import hangs, listening


def web(line):
    line.recv(100)
    line.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def closes(line):
    line.recv(100)
    line.close()


def huge(line):
    line.recv(100)
    line.sendall(struct.pack(">i", 2**31 - 1))


def cut_short(line):
    """Supports Metadata, and answers it with nothing but the number of the request."""
    for body in (struct.pack(">hihhh", 0, 1, requests.METADATA, 0, 9), b""):
        frame = line.recv(4096)
        line.sendall(struct.pack(">i", 4 + len(body)) + frame[8:12] + body)


def tls(line):
    """Ends the connection with an alert, as a TLS listener does that reads no TLS."""
    line.recv(100)
    line.sendall(bytes.fromhex("15030300020246"))


def answers_another(distance):
    """Answers the request that came `distance` before or after."""

    def answer(line):
        [correlation] = struct.unpack_from(">i", line.recv(4096), 8)
        body = struct.pack(">ihihhh", correlation + distance, 0, 1, requests.METADATA, 0, 9)
        line.sendall(struct.pack(">i", len(body)) + body)

    return answer


def ask(endpoint, seconds=0.3):
    with BrokerConnection(endpoint, Security()) as line:
        return line.call(requests.metadata(), Deadline.after(seconds))


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (hangs, "connection or response timed out"),
        (web, "does not speak the Kafka protocol"),
        (closes, "closed the connection; not a Kafka broker, or it requires TLS or SASL"),
        (huge, "does not speak the Kafka protocol"),
        (tls, "it requires TLS: set security.protocol"),
        (answers_another(-1), "does not speak the Kafka protocol"),
        (answers_another(1), "does not speak the Kafka protocol"),
    ],
)
def test_a_server_that_is_no_broker_is_named_as_such(behaviour, words):
    with listening(behaviour) as endpoint, pytest.raises(UnreachableError, match=words):
        ask(endpoint)


@pytest.mark.parametrize("behaviour", [hangs, web, closes, answers_another(-1)])
def test_a_connection_that_failed_is_closed_so_that_no_late_response_is_taken(behaviour):
    with listening(behaviour) as endpoint, BrokerConnection(endpoint, Security()) as line:
        with pytest.raises(UnreachableError):
            line.call(requests.metadata(), Deadline.after(0.3))
        assert line.accepted
        assert not line.is_open


def test_a_connection_with_a_response_that_cannot_be_decoded_is_closed():
    with listening(cut_short) as endpoint, BrokerConnection(endpoint, Security()) as line:
        with pytest.raises(ProtocolError, match=str(endpoint)):
            line.call(requests.metadata(), Deadline.after(3))
        assert line.accepted
        assert not line.is_open


def test_a_closed_port_and_an_unknown_host_are_reported_apart():
    with pytest.raises(UnreachableError, match="connection refused"):
        ask(Endpoint("127.0.0.1", 1))
    with pytest.raises(UnreachableError, match="host name cannot be resolved"):
        ask(Endpoint("nowhere.invalid", 9092), seconds=5)


def test_a_server_that_hangs_for_ever_is_given_up_at_the_deadline():
    with listening(hangs) as endpoint, pytest.raises(UnreachableError, match="cannot be reached"):
        collect(make_target(str(endpoint), None, timeout=0.5))


@pytest.mark.parametrize(
    "change",
    [
        requests.elect_leaders(TopicPartition("t", 0), unclean=True, timeout_ms=1),
        requests.alter_reassignment(TopicPartition("t", 0), (1,), 1),
    ],
)
def test_a_read_only_line_refuses_a_change_before_it_connects(change):
    line = BrokerConnection(Endpoint("127.0.0.1", 1), Security())
    with pytest.raises(ReadOnlyViolationError):
        line.call(change, Deadline.after(1))


def test_a_read_only_line_refuses_a_question_that_would_create_a_topic():
    asking = requests.metadata(("t",))
    creating = replace(asking, body=asking.body[:-1] + b"\1")
    with pytest.raises(ReadOnlyViolationError, match="auto-creation"):
        BrokerConnection(Endpoint("127.0.0.1", 1), Security()).call(creating, Deadline.after(1))


@pytest.mark.parametrize("behaviour", [hangs, web, closes, huge])
def test_what_is_no_zookeeper_is_one_clear_error(behaviour):
    with listening(behaviour) as endpoint, pytest.raises(UnreachableError, match=f"zookeeper {endpoint}"):
        open_line(parse_connect(str(endpoint)), Deadline.after(0.5))


@for_each("text", ["", "host", "host:", "host:x", "host:0", "host:99999", ":9092", ","])
def test_a_wrong_address_is_a_usage_error_with_an_example(text):
    with pytest.raises(UsageError) as caught:
        make_target(text, None) if text else make_target(None, None)
    assert caught.value.hint
    with pytest.raises(UsageError):
        parse_connect(text)


def test_a_chroot_stands_once_behind_the_last_server():
    connect = parse_connect("a:1,[::1]:2/x/y/")
    assert (connect.chroot, [str(s) for s in connect.servers]) == ("/x/y", ["a:1", "[::1]:2"])
    assert parse_connect("a:1/").chroot == ""
