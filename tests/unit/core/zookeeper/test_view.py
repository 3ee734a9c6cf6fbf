"""The view of one server: which times it takes, in whose clock, and when it is not believed at all."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from kfix.core.errors import UnreachableError
from kfix.core.snapshot.snapshot import TopicPartition, ZooKeeperView
from kfix.core.timing import Deadline
from kfix.core.zookeeper import view as module
from kfix.core.zookeeper.connect import open_line, parse_connect
from kfix.core.zookeeper.view import migrating, view_of
from kfix.core.zookeeper.wire import Node, ZnodeStat
from tests.each import for_each
from tests.listening import listening
from tests.proofs.fuzz.servers import ZooKeeperServer, stat

TP = TopicPartition("t", 0)
STATE = "/brokers/topics/t/partitions/0/state"
CREATED, WRITTEN = 1_700_000_000_000, 1_700_000_500_000
NODES = {
    "/brokers/topics/t": {"version": 1, "partitions": {"0": [1]}},
    STATE: {"controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 4, "isr": [1]},
    "/brokers/ids/1": {"version": 1, "host": "h", "port": 9092, "endpoints": ["PLAINTEXT://h:9092"]},
    "/controller": {"version": 1, "brokerid": 1, "timestamp": str(CREATED)},
}
LISTS = {"/brokers/ids": ("1",), "/brokers/topics": ("t",), "/config/topics": ()}


def read(root: str = "", *, read_only: bool = False, more: Mapping[str, object] = NODES) -> ZooKeeperView:
    times, nodes = stat(czxid=77, ctime=CREATED, mtime=WRITTEN), {**NODES, **more}
    server = ZooKeeperServer(
        {root + path: json.dumps(data).encode() for path, data in nodes.items()},
        {root + path: names for path, names in LISTS.items()},
        {root + path: times for path in nodes},
    )
    deadline = Deadline.after(5)
    with listening(server.talk) as at:
        connect = parse_connect(f"{at}{root}")
        with open_line(connect, deadline) as line:
            line.read_only = read_only
            return view_of(line, connect, "PLAINTEXT", deadline)[1]


@pytest.mark.parametrize("ahead", [None, 0, 3600, -3600])
def test_a_state_is_as_old_as_its_last_writing_and_a_registration_as_its_znode(
    monkeypatch: pytest.MonkeyPatch, ahead: int | None
) -> None:
    """Both are in the clock of this host."""
    monkeypatch.setattr(module, "clock_ahead", lambda *_: ahead)
    found, shift = read(), 1000 * (ahead or 0)
    assert found.states[TP].mtime_ms == WRITTEN + shift
    assert found.registrations[1].registered_ms == CREATED + shift
    assert found.clock_ahead == ahead


def test_a_topic_has_the_transaction_that_created_it() -> None:
    assert read().topics_created == {"t": 77}


def test_a_migration_has_the_offset_up_to_which_zookeeper_was_written() -> None:
    found = [read(more=more) for more in ({}, {"/migration": {"version": 0, "kraft_metadata_offset": 742}})]
    assert [(each.migrating, each.copied) for each in found] == [(False, -1), (True, 742)]


@pytest.mark.parametrize("root", ["", "/kafka"])
def test_a_server_without_a_quorum_is_not_believed(root: str) -> None:
    assert read(root).states[TP].leader == 1
    with pytest.raises(UnreachableError, match="it has no quorum"):
        read(root, read_only=True)


@for_each(
    ("migration", "controller", "moves"),
    [
        (False, None, False),
        (False, {"version": 1, "brokerid": 1, "timestamp": "1"}, False),
        (True, None, True),
        (True, {"version": 1, "brokerid": 1, "timestamp": "1"}, True),
        (False, {"version": 2, "brokerid": 3000, "timestamp": "1", "kraftControllerEpoch": 3}, True),
    ],
)
def test_a_cluster_migrates_from_the_first_sign_of_kraft_on(
    migration: bool, controller: dict[str, object] | None, moves: bool
) -> None:
    times = ZnodeStat(*[0] * len(ZnodeStat._fields))
    node = None if controller is None else Node(json.dumps(controller).encode(), (), times)
    assert migrating(Node(b"", (), times) if migration else None, node) is moves
