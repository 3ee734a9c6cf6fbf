"""On which lines of Kafka an incident can be made, and what a refusal says."""

import pytest

from kfix.core.errors import UsageError
from kfix.lab import INCIDENTS, Lab, LabSpec
from kfix.lab.definition.recipes import KRAFT, RECIPES, ZK
from kfix.lab.definition.state import BrokerDef, ControllerDef, LabState
from kfix.lab.definition.store import Store
from kfix.lab.incidents.setup.throttles import _has

KEYS = {ZK, KRAFT, *(recipe.kafka for recipe in RECIPES.values()), *map(str, RECIPES.values())}


@pytest.fixture
def lab_of(tmp_path, monkeypatch):
    monkeypatch.setenv("KFIX_LAB_HOME", str(tmp_path))

    def lab(**options):
        lab = Lab(Store("k"))
        brokers = tuple(BrokerDef(n, n, None) for n in (1, 2, 3))
        voters = (ControllerDef(100, 100, "d"),)
        lab.store.save(LabState("k", "id", LabSpec(name="k", **options), str(tmp_path), brokers, controllers=voters))
        return lab

    return lab


def test_every_incident_can_be_made_somewhere_and_what_it_names_against_a_line_is_a_line():
    for incident in INCIDENTS.values():
        assert incident.lines, incident.name
        assert incident.not_on.keys() <= KEYS
        assert all(reason and not reason.endswith(".") for reason in incident.not_on.values())


def test_each_line_has_the_control_case_and_incidents_of_its_own_mode():
    assert INCIDENTS["healthy"].lines == ("2.7.1 zk", "3.9.2 zk", "3.9.2 kraft", "4.3.1 kraft", "4.4.0 kraft")
    assert INCIDENTS["quorum-lost"].lines == ("3.9.2 kraft", "4.3.1 kraft", "4.4.0 kraft")
    assert INCIDENTS["elr-struck"].lines == ("4.3.1 kraft", "4.4.0 kraft")
    assert "4.3.1 kraft" not in INCIDENTS["metadata-divergence"].lines


@pytest.mark.parametrize(
    ("options", "name", "said"),
    [
        ({"kafka": "4.3.1"}, "coordinator-stuck", "Kafka 4.3.1 on KRaft: it requires editing ZooKeeper's znodes"),
        ({"kafka": "4.3.1"}, "zookeeper-node-cut", "it cuts ZooKeeper servers from each other, and KRaft has none"),
        ({"kafka": "3.9.2", "mode": "kraft"}, "elr-struck", "Kafka 3.9 keeps no eligible leader replicas"),
        (
            {"kafka": "3.9.2"},
            "quorum-lost",
            "3.9.2 with ZooKeeper: it concerns the controllers of a KRaft quorum",
        ),
        ({"kafka": "4.3.1", "elr": False}, "elr-struck", "elr-struck needs eligible leader replicas"),
        ({"kafka": "4.3.1", "combined": True}, "controller-frozen", "those of lab 'k' are brokers, too"),
    ],
)
def test_an_incident_that_cannot_be_made_is_refused_in_one_line_before_anything_is_done(lab_of, options, name, said):
    with pytest.raises(UsageError, match="lab 'k'") as told:
        lab_of(**options).break_(name)
    assert said in str(told.value)
    assert "\n" not in str(told.value)
    assert told.value.hint


def test_a_refusal_names_what_can_be_made_there(lab_of):
    with pytest.raises(UsageError) as told:
        lab_of(kafka="4.3.1").break_("coordinator-silent")
    named = told.value.hint.removeprefix("there: ").split(", ")
    assert {"healthy", "quorum-lost", "elr-struck"} <= set(named)
    assert not {"coordinator-stuck", "zookeeper-quorum-lost"} & set(named)


@pytest.mark.parametrize(
    ("line", "applies"),
    [
        ("with config: HashMap(a.rate -> 10, b -> 1)", True),
        ("with config: HashMap(a.rate -> 10)", True),
        ("with config: HashMap(a.rate -> 100)", False),
        ("with new configuration : a.rate -> 10 (kafka.server.metadata.DynamicConfigPublisher)", True),
        ("with new configuration : a.rate -> 10,b -> 1 (kafka.server.metadata.DynamicConfigPublisher)", True),
        ("with new configuration : a.rate -> 10,1:2 (kafka.server.metadata.DynamicConfigPublisher)", False),
    ],
)
def test_a_line_of_a_log_applies_a_setting_only_with_its_whole_value(line, applies):
    assert _has(line, "a.rate -> 10") is applies
