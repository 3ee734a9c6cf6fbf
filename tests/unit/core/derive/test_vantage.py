"""Whom a place reached, in plain words."""

from dataclasses import replace

import pytest

from kfix.core.derive.vantage import LONGEST_NAME, as_name, in_order, is_name, plain, reach_of, vantage_of
from kfix.core.snapshot.snapshot import Vantage, ZooKeeperNode
from tests.unit.diagnostics.clusters import healthy, text


def test_a_snapshot_states_whom_its_vantage_reached_and_whom_not() -> None:
    look = replace(
        healthy(),
        silent={4: "broker 4: no answer in time"},
        ensemble=(
            ZooKeeperNode("zk-a:2181", "no quorum", "not currently serving requests"),
            ZooKeeperNode("zk-b:2181", "", "zk-b:2181: connection refused, nothing listens there"),
            ZooKeeperNode("zk-c:2181", "", "srvr is not allowed there"),
        ),
    )
    tried = {"broker 9": "h:1: connect: no answer in time", "h:2": "", "broker 1": "once"}
    assert vantage_of(look, "az1", tried) == Vantage(
        "az1",
        look.taken_at,
        ("broker 1", "broker 2", "broker 3", "zookeeper zk-a:2181", "zookeeper zk-c:2181"),
        {
            "broker 4": "no answer in time",
            "broker 9": "connect: no answer in time",
            "zookeeper zk-b:2181": "connection refused, nothing listens there",
            "h:2": "no answer",
        },
    )


def test_a_text_has_reached_no_server() -> None:
    pasted = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    assert vantage_of(text(f"Topic: t\tPartitionCount: 1\n{pasted}"), "x").reached == ()


def test_vantages_are_side_by_side_and_unknown_where_no_question_was_asked() -> None:
    one = Vantage("az1", 1.0, ("broker 2",), {"broker 10": "no"})
    other = Vantage("az2", 1.0, ("zookeeper z:1", "broker 10"), {})
    assert [row.cells for row in reach_of((one, other))] == [
        {"broker 2": True, "broker 10": False, "zookeeper z:1": None},
        {"broker 2": None, "broker 10": True, "zookeeper z:1": True},
    ]
    assert list(reach_of((one, other))[0].cells) == ["broker 2", "broker 10", "zookeeper z:1"]
    assert reach_of(()) == ()


def test_numbers_count_as_numbers() -> None:
    names = ["h:1", "zookeeper z10:1", "broker 10", "zookeeper z9:1", "broker 9"]
    assert sorted(names, key=in_order) == ["broker 9", "broker 10", "zookeeper z9:1", "zookeeper z10:1", "h:1"]


@pytest.mark.parametrize("bad", ["", " a", "a ", "a\nb", "\x1b[31m", "x" * (LONGEST_NAME + 1)])
def test_a_name_is_short_and_printable_and_any_text_has_one_near_it(bad: str) -> None:
    assert not is_name(bad)
    assert is_name(as_name(bad))


def test_an_error_loses_what_stands_beside_it_and_nothing_else() -> None:
    assert plain("broker 2", "broker 2: no answer in time") == "no answer in time"
    assert plain("broker 2", "10.0.0.1:9092: closed: why") == "closed: why"
    assert plain("broker 2", "is of another cluster") == "is of another cluster"
    assert plain("broker 2", "TLS failed: bad certificate") == "TLS failed: bad certificate"
