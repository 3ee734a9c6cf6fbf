"""Brokers that answer for an id of this cluster and belong to another one, or to ZooKeeper still."""

from __future__ import annotations

from kfix.core.collect.broker import BrokerAnswers
from kfix.core.collect.collector import _Collection, meant
from kfix.core.collect.kraft import offsets_of
from kfix.core.collect.options import CollectOptions
from kfix.core.kafka.kraft_messages import Features
from kfix.core.snapshot.snapshot import BrokerView, Endpoint
from kfix.core.target import make_target


def answers(broker: int, cluster: str, offset: int, role: str = "broker") -> BrokerAnswers:
    configs = {"process.roles": role} if role else {"zookeeper.connect": "z:1"}
    view = BrokerView(broker, 1, {}, {}, {})
    return BrokerAnswers(view, cluster, configs, (), (), Features(offset, {"metadata.version": 30}))


def on_kraft(*given: BrokerAnswers) -> _Collection:
    made = _Collection(make_target("b:1", None), CollectOptions())
    made._cluster_id = "mine"
    made._answers |= {each.view.broker: each for each in given}
    made._addresses |= {each.view.broker: Endpoint("b", 9090 + each.view.broker) for each in given}
    made._ask_authority({"process.roles": "broker"})
    return made


def test_a_registered_broker_that_answers_for_another_cluster_is_no_part_of_the_snapshot() -> None:
    """Its disk was formatted again, and it was started as a cluster of its own under the same id and address."""
    made = on_kraft(answers(1, "mine", 70), answers(4, "other", 900))
    made._drop_foreign("mine")
    assert set(made._answers) == {1}
    assert made._foreign == {"b:9094": "other"}
    assert any("another cluster, other" in source.error for source in made._questions.sources() if not source.ok)


def test_a_broker_that_runs_on_zookeeper_in_a_migration_has_no_offset_of_the_metadata() -> None:
    made = on_kraft(answers(1, "mine", 70), answers(2, "mine", 0, role=""))
    assert offsets_of(made._answers) == {1: 70}


# Which cluster is read where the bootstrap servers are of several.


A, B, C = (Endpoint("b", port) for port in (1, 2, 3))


def test_the_cluster_of_most_servers_is_meant_whichever_answered_first() -> None:
    servers = {"mine": [A, B], "other": [C]}
    assert [meant(servers, read) for read in servers] == ["mine", "mine"]


def test_of_two_clusters_with_as_many_servers_the_first_one_to_answer_is_meant() -> None:
    servers = {"mine": [A], "other": [C]}
    assert [meant(servers, read) for read in servers] == ["mine", "other"]


def test_the_cluster_that_the_inventory_names_is_meant_if_a_server_is_of_it() -> None:
    servers = {"mine": [A], "other": [B, C]}
    assert meant(servers, "other", "mine") == "mine"
    assert meant({"other": [B, C]}, "other", "mine") == "other"


def test_servers_that_did_not_answer_decide_nothing() -> None:
    assert meant({}, "mine") == "mine"
    assert meant({}, "", "mine") == ""
