"""Every way of reading a cluster returns the same on real servers, also while the cluster moves."""

import threading
from contextlib import ExitStack

import pytest

from kfix.core.kafka import requests
from kfix.core.kafka.codec import ByteReader
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.metadata import Shared, decoded
from kfix.core.kafka.security import Security
from kfix.core.snapshot.snapshot import Endpoint, TopicPartition
from kfix.core.timing import Deadline
from kfix.core.zookeeper import view as reading
from kfix.core.zookeeper.connect import open_line, parse_connect
from kfix.lab import Lab, LabSpec
from tests.cluster.conftest import lab_of_its_own
from tests.waiting import seconds
from tests.zookeeper_view import read_view

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster-three")]

PARTITIONS = 600
WAYS = [(multi, lines) for multi in (False, True) for lines in (1, 4)]


def start(version):
    lab = Lab.up(LabSpec(name="ways", kafka=version, ids=(1, 2)))
    lab.grow(PARTITIONS, 2, 5)
    return lab


#: ZooKeeper 3.5.9, which has no multiRead, and 3.8.4.
own, lab = lab_of_its_own(start, params=["2.7.1", "3.9.2"])


def view(lab, multi, lines):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_READS_A_LINE", 10**9 if lines == 1 else 1)
        if not multi:
            patch.setattr(reading, "has_multi_read", lambda *_: False)
        _, found, unread = read_view(parse_connect(lab.zookeeper_connect), "PLAINTEXT", Deadline.after(20))
    assert not unread
    return found


def ways(lab):
    return [way for way in WAYS if lab.state.spec.kafka != "2.7.1" or not way[0]]


def test_the_server_shows_whether_it_has_multi_read(lab):
    deadline = Deadline.after(10)
    with open_line(parse_connect(lab.zookeeper_connect), deadline) as line:
        assert reading.has_multi_read(line, deadline) is (lab.state.spec.kafka != "2.7.1")


def test_every_way_makes_the_same_view(lab):
    first, *others = [view(lab, *way) for way in ways(lab)]
    assert len(first.states) >= PARTITIONS
    for other in others:
        assert list(other.states.items()) == list(first.states.items())
        assert list(other.assignments.items()) == list(first.assignments.items())
        assert other == first


def test_while_leaders_move_only_what_was_written_in_between_differs(lab):
    stop = threading.Event()

    def move():
        with lab.access() as access:
            turn = 0
            while not stop.is_set():
                tps = [TopicPartition(f"grown-{n}", turn % 5) for n in range(turn % 40, 110, 40)]
                ids = (1, 2) if turn % 2 else (2, 1)
                access.reassign(dict.fromkeys(tps, ids))
                access.elect(tps, unclean=False)
                turn += 1

    mover = threading.Thread(target=move, daemon=True)
    mover.start()
    moved = 0
    try:
        for turn in range(6):
            way, other = ways(lab)[turn % len(ways(lab))], ways(lab)[-1 - turn % len(ways(lab))]
            before, after = view(lab, *way), view(lab, *other)
            for tp, state in before.states.items():
                if after.states[tp] != state:
                    moved += 1
                    assert after.states[tp].mzxid > state.mzxid, (
                        f"{tp} was read differently without having been written"
                    )
    finally:
        stop.set()
        mover.join(seconds(60))
    assert moved, "nothing moved, so nothing was shown"
    still = [view(lab, *way) for way in ways(lab)]
    assert all(each.states == still[0].states for each in still)


def test_brokers_metadata_decoded_together_is_that_of_each_alone(lab):
    with ExitStack() as stack:
        raws = []
        for broker in lab.broker_ids:
            host, _, port = lab.address(broker).rpartition(":")
            line = stack.enter_context(BrokerConnection(Endpoint(host, int(port)), Security()))
            [answer] = line.exchange([requests.metadata()], Deadline.after(20))
            raws.append((answer.data, answer.at))
    shared = Shared()
    together = [decoded(ByteReader(*raw), shared) for raw in raws]
    assert together == [decoded(ByteReader(*raw)) for raw in raws]
    assert len(together[0].partitions) >= PARTITIONS
