"""A wrong address is named as what listens there."""

import socket

import pytest

from kfix.core.collect.listeners import mistaken, wanted
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.target import Target
from kfix.core.zookeeper.connect import Connect
from tests.listening import hangs, listening


def answering(begins: bytes, reply: bytes):
    """Returns a server that answers one kind of question, and closes the connection after any other."""

    def talk(line: socket.socket) -> None:
        if line.recv(64).startswith(begins):
            line.sendall(reply)
        line.shutdown(socket.SHUT_RDWR)

    return talk


HTTP = answering(b"GET ", b"HTTP/1.0 200 OK\r\n")
KEEPER = answering(b"srvr", b"Zookeeper version: 3.8.4\n")
STRICT_KEEPER = answering(b"srvr", b"srvr is not executed because it is not in the whitelist.\n")
BROKER = answering(b"\0\0\0\x0a\0\x12", bytes.fromhex("0000000a00000001") + b"\0" * 6)
TLS = answering(b"GET ", bytes.fromhex("15030300020246"))


@pytest.mark.parametrize(
    ("talk", "what"),
    [
        (HTTP, "an HTTP server"),
        (KEEPER, "ZooKeeper"),
        (STRICT_KEEPER, "ZooKeeper"),
        (TLS, "a TLS server"),
        (BROKER, ""),
        (hangs, ""),
    ],
)
def test_what_is_not_a_broker_is_named(talk, what):
    with listening(talk) as endpoint:
        expected = [f"{endpoint} is {what}, not a Kafka broker"] if what else []
        assert mistaken(wanted(Target((endpoint,)))) == expected


def test_a_broker_is_no_zookeeper():
    with listening(BROKER) as endpoint:
        target = Target((), zookeeper=Connect((endpoint,), ""))
        assert mistaken(wanted(target)) == [f"{endpoint} is a Kafka broker, not ZooKeeper"]


def test_nothing_is_said_of_an_address_where_nothing_listens():
    with listening(hangs) as endpoint:
        pass
    assert mistaken(wanted(Target((endpoint, Endpoint("nowhere.invalid", 1))))) == []
