from __future__ import annotations

import pytest

from kfix.core.errors import UsageError
from kfix.lab.cli.console import process_named
from kfix.lab.definition.spec import LabSpec
from kfix.lab.definition.state import BrokerDef, LabState, ZooKeeperDef, ids_by_rack, no_such, spread, word_of
from tests.each import for_each


def test_neighbours_are_in_different_racks_where_the_racks_allow_it():
    brokers = [BrokerDef(number, number, rack) for number, rack in ((1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, "c"))]
    assert ids_by_rack(brokers) == (1, 3, 5, 2, 4)


def test_a_retired_broker_gets_no_replica():
    assert ids_by_rack([BrokerDef(1, 1, None), BrokerDef(2, 1, None, retired=True), BrokerDef(3, 3, None)]) == (1, 3)


def test_replicas_go_round_the_brokers():
    assert spread((10, 20, 30), 3, 2) == [[10, 20], [20, 30], [30, 10]]


def test_a_number_is_a_broker_and_zk_with_a_number_a_zookeeper():
    assert process_named("1001") == ("broker", 1001)
    assert process_named("zk2") == ("zookeeper", 2)
    assert word_of(*process_named("zk2")) == "zk2"
    assert word_of(*process_named("7")) == "7"
    assert process_named("controller 100") == ("controller", 100)
    assert (process_named("broker 7"), process_named("zookeeper 2")) == (("broker", 7), ("zookeeper", 2))


@for_each("word", ["", "zk", "zk-1", "-1", "zoo1", "1.5", "\u00b2", "zkzk1", "controller", "controller100"])
def test_anything_else_names_no_process(word):
    with pytest.raises(UsageError, match="is not a process") as told:
        process_named(word)
    assert "zk1" in told.value.hint


def test_a_process_that_is_not_there_is_answered_with_those_that_are():
    state = LabState(
        name="t",
        id="x",
        spec=LabSpec(),
        data="",
        brokers=(BrokerDef(5, 1, None), BrokerDef(6, 1, None, retired=True)),
        zookeepers=(ZooKeeperDef(1, 1, 2, 3),),
    )
    assert no_such(state, "zookeeper", 3).hint == "its zookeepers: zk1"
    assert no_such(state, "broker", 6).hint == "its brokers: 5"
