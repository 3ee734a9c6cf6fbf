import pytest

from kfix.core.errors import UsageError
from kfix.lab.definition.properties import broker_settings, render, zookeeper_settings
from kfix.lab.definition.recipes import RECIPES, recipe_of
from kfix.lab.definition.spec import LabSpec, parse_sasl, parse_settings
from kfix.lab.definition.state import BrokerDef, ZooKeeperDef
from tests.each import for_each


@for_each(
    "wrong",
    [
        {"name": "Not A Name"},
        {"name": "../elsewhere"},
        {"kafka": "0.8"},
        {"ids": ()},
        {"ids": (1, 1, 2)},
        {"ids": (-1, 2, 3)},
        {"ids": (1, 2, 2_000_000_000)},
        {"racks": ("a", "b")},
        {"zookeepers": 2},
        {"offsets_rf": 4},
        {"offsets_rf": 0},
        {"chroot": "kfix"},
        {"chroot": "/kfix/"},
        {"heap_mb": 10},
        {"sasl": ("a b", "x")},
        {"sasl": ("alice", "")},
        {"sasl": ("alice", 'a"b')},
        {"sasl": ("alice", "a\\b")},
        {"sasl": ("alice", "a\nb")},
        {"zookeeper_security": "kerberos"},
        {"zookeeper_security": "tls", "zones": 3},
        {"zookeeper_security": "sasl", "kafka": "4.3.1"},
        {"settings": {"broker.id": "7"}},
        {"settings": {"offsets.topic.replication.factor": "1"}},
    ],
)
def test_a_spec_that_cannot_work_is_refused_before_anything_starts(wrong):
    with pytest.raises(UsageError):
        LabSpec(**wrong)


def test_the_offsets_topic_gets_three_replicas_or_as_many_as_there_are_brokers():
    assert LabSpec(ids=(1, 2, 3, 4)).offsets_replication == 3
    assert LabSpec(ids=(7,)).offsets_replication == 1
    assert LabSpec(offsets_rf=1).offsets_replication == 1


def test_racks_follow_the_order_of_the_ids():
    spec = LabSpec(ids=(30, 10, 20), racks=("x", "y", "z"))
    assert [spec.rack_of(broker) for broker in (10, 20, 30, 99)] == ["y", "z", "x", None]


def test_settings_are_key_and_value_and_a_value_may_hold_an_equals_sign():
    assert parse_settings(["a=1", "b = x=y"]) == {"a": "1", "b": "x=y"}
    with pytest.raises(UsageError, match="--option 'a' is not key=value"):
        parse_settings(["a"], flag="--option")


def test_a_setting_of_the_user_wins_over_the_default_but_not_over_what_the_lab_owns(tmp_path):
    spec = LabSpec(settings={"min.insync.replicas": "2", "compression.type": "zstd"}, offsets_rf=2)
    settings = broker_settings(spec, BrokerDef(65633, 20001, "a"), "127.0.0.1:2/k", "127.0.0.1", tmp_path)
    assert settings["min.insync.replicas"] == "2"
    assert settings["compression.type"] == "zstd"
    assert settings["offsets.topic.replication.factor"] == "2"
    assert settings["broker.id"] == "65633"
    assert settings["broker.rack"] == "a"
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:20001"
    assert settings["zookeeper.connect"] == "127.0.0.1:2/k"


def test_a_broker_without_a_rack_names_none(tmp_path):
    assert "broker.rack" not in broker_settings(LabSpec(), BrokerDef(1, 2, None), "z", "h", tmp_path)


def test_an_ensemble_names_its_members_and_a_single_node_does_not(tmp_path):
    nodes = [ZooKeeperDef(number, number, 10 + number, 20 + number) for number in (1, 2, 3)]
    ensemble = dict(zip(nodes, ("h", "i", "j"), strict=True))
    settings = zookeeper_settings(nodes[1], ensemble, tmp_path)
    assert (settings["server.3"], settings["clientPortAddress"]) == ("j:13:23", "i")
    alone = zookeeper_settings(nodes[0], {nodes[0]: "h"}, tmp_path)
    assert not [key for key in alone if key.startswith("server.")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"zones": 2, "zookeepers": 3}, "3 zones, or none"),
        ({"zones": 3, "zookeepers": 1}, "--zookeepers 1"),
        ({"zones": 3, "zookeepers": 3, "ids": (1, 2)}, "2 brokers"),
        ({"zones": 2, "kafka": "4.3.1"}, "3 zones, or none"),
        ({"zones": 3, "kafka": "4.3.1", "ids": (1, 2)}, "2 brokers"),
        ({"zones": 3, "zookeepers": 3, "racks": ("a", "b", "c")}, "--racks"),
    ],
)
def test_a_lab_with_zones_is_checked_before_anything_is_made(options, said):
    with pytest.raises(UsageError, match=said):
        LabSpec(**options)


def test_in_a_zone_a_broker_is_of_that_rack_and_the_controller_has_a_line_of_its_own_to_it(tmp_path):
    spec = LabSpec(ids=(11, 5, 7, 9), zones=3, zookeepers=3)
    assert [spec.rack_of(each) for each in (5, 7, 9, 11)] == ["az1", "az2", "az3", "az1"]
    settings = broker_settings(spec, BrokerDef(5, 20001, "az1", zone="az1", control_port=20002), "z", "h", tmp_path)
    assert settings["listeners"] == "PLAINTEXT://h:20001,CONTROL://h:20002"
    assert settings["control.plane.listener.name"] == "CONTROL"
    assert settings["inter.broker.listener.name"] == "PLAINTEXT"


def test_values_survive_the_way_through_a_properties_file():
    assert render({"a": "c:\\x", "b": " y", "c": "1\n2"}) == "a=c:\\\\x\nb=\\ y\nc=1\\n2\n"


def test_every_version_of_the_table_says_so_itself():
    assert all((recipe.kafka, recipe.mode) == line for line, recipe in RECIPES.items())
    assert all(recipe_of(*line) is recipe for line, recipe in RECIPES.items())


def test_with_sasl_a_broker_has_a_second_listener_and_its_peers_use_the_first(tmp_path):
    spec = LabSpec(ids=(1,), sasl=("alice", "x y=;"))
    settings = broker_settings(spec, BrokerDef(1, 20001, None, sasl_port=20002), "z", "h", tmp_path)
    assert settings["listeners"] == "PLAINTEXT://h:20001,SASL_PLAINTEXT://h:20002"
    assert settings["sasl.enabled.mechanisms"] == "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
    plain = settings["listener.name.sasl_plaintext.plain.sasl.jaas.config"]
    assert plain.endswith('PlainLoginModule required user_alice="x y=;";')
    assert not [key for key in settings if key.startswith(("security.", "inter."))]
    assert not [key for key in broker_settings(LabSpec(), BrokerDef(1, 1, None), "z", "h", tmp_path) if "sasl" in key]


def test_the_password_of_sasl_is_in_no_repr_and_no_error():
    assert "s3cret" not in repr(LabSpec(sasl=("alice", "s3cret")))
    assert parse_sasl("alice:a:b") == ("alice", "a:b")
    for wrong in (
        lambda: parse_sasl("s3cret"),
        lambda: LabSpec(sasl=("", "s3cret")),
        lambda: LabSpec(sasl=("a", 's3cret"')),
    ):
        with pytest.raises(UsageError) as told:
            wrong()
        assert "s3cret" not in str(told.value) + told.value.hint
