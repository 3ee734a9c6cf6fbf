"""The lines of Kafka that the lab runs: what is refused before anything is started, and what each node is told."""

import pytest

from kfix.core.errors import UsageError
from kfix.lab.definition.properties import controller_settings, format_arguments, kraft_broker_settings
from kfix.lab.definition.recipes import KRAFT, RECIPES, ZK, recipe_of
from kfix.lab.definition.spec import LabSpec
from kfix.lab.definition.state import BrokerDef, ControllerDef, LabState, from_json, no_such, to_json, word_of
from kfix.lab.nodes.classpath import resource_text
from tests.each import for_each

QUORUM = {ControllerDef(number, 9000 + number, f"dir-{number}"): "h" for number in (100, 101, 102)}
ALONE = {ControllerDef(100, 9100, "dir-100"): "h"}


def test_a_version_has_its_modes_and_the_first_one_where_none_is_named():
    assert set(RECIPES) == {("2.7.1", ZK), ("3.9.2", ZK), ("3.9.2", KRAFT), ("4.3.1", KRAFT), ("4.4.0", KRAFT)}
    assert [recipe_of(version).mode for version in ("2.7.1", "3.9.2", "4.3.1", "4.4.0")] == [ZK, ZK, KRAFT, KRAFT]
    assert recipe_of("3.9.2", KRAFT).mode == KRAFT


@pytest.mark.parametrize(
    ("kafka", "mode", "said", "hint"),
    [
        ("4.3.1", "zk", "the lab runs Kafka 4.3.1 on KRaft only", "for ZooKeeper: --kafka 2.7.1 or 3.9.2"),
        (
            "2.7.1",
            "kraft",
            "the lab runs Kafka 2.7.1 with ZooKeeper only",
            "for KRaft: --kafka 3.9.2 or 4.3.1 or 4.4.0",
        ),
        ("4.3.1", "raft", "--mode raft: no such mode", "zk or kraft"),
        ("0.8", None, "the lab cannot run Kafka 0.8", "2.7.1, 3.9.2, 4.3.1, 4.4.0"),
    ],
)
def test_a_mode_that_a_version_does_not_have_is_refused_with_those_that_have_it(kafka, mode, said, hint):
    with pytest.raises(UsageError) as told:
        recipe_of(kafka, mode)
    assert str(told.value) == said
    assert hint in told.value.hint


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=str)
def test_each_line_finds_its_files_and_names_the_class_of_each_process(recipe):
    assert "${kafka.version}" in resource_text(recipe.pom)
    assert "stdout" in resource_text(recipe.log4j).lower()
    zookeeper, kraft = {"broker", "zookeeper"}, {"broker", "controller", "format"}
    # Of the lines with ZooKeeper only 3.9 can migrate to KRaft.
    migrates = recipe.mode == ZK and recipe.kafka == "3.9.2"
    assert recipe.mains.keys() == (zookeeper | kraft if migrates else zookeeper if recipe.mode == ZK else kraft)
    assert recipe.jars > 0


@for_each(
    ("options", "said"),
    [
        ({"kafka": "4.3.1", "zookeepers": 1}, "--zookeepers needs ZooKeeper"),
        ({"kafka": "4.3.1", "chroot": "/k"}, "--chroot needs ZooKeeper"),
        ({"kafka": "4.3.1", "controllers": 2}, "--controllers 2: 1 or 3"),
        ({"kafka": "4.3.1", "controllers": 3, "combined": True, "ids": (1, 2)}, "--combined with --controllers 3"),
        ({"kafka": "3.9.2", "mode": "kraft", "elr": False}, "--no-elr: Kafka 3.9.2 has no"),
        ({"controllers": 3}, "--controllers is for KRaft"),
        ({"kafka": "3.9.2", "combined": True}, "--combined is for KRaft"),
        ({"dynamic_quorum": True}, "--dynamic-quorum is for KRaft"),
        ({"elr": False}, "--no-elr is for KRaft"),
        ({"kafka": "4.3.1", "settings": {"process.roles": "broker"}}, "--set process.roles"),
        ({"kafka": "4.3.1", "settings": {"controller.quorum.voters": "1@h:1"}}, "--set controller.quorum.voters"),
    ],
)
def test_an_option_of_the_other_mode_is_refused_in_one_line(options, said):
    with pytest.raises(UsageError) as told:
        LabSpec(**options)
    assert str(told.value).startswith(said)
    assert "\n" not in str(told.value)


def test_controllers_have_ids_of_their_own_and_combined_ones_those_of_the_first_brokers():
    assert LabSpec(kafka="4.3.1", controllers=3, ids=(5, 100, 7)).controller_ids == (101, 102, 103)
    assert LabSpec(kafka="4.3.1", controllers=3, combined=True, ids=(9, 7, 8, 6)).controller_ids == (6, 7, 8)
    assert LabSpec(kafka="3.9.2").controller_ids == ()
    assert LabSpec(kafka="4.3.1").servers == 0
    assert [LabSpec(zookeepers=number).servers for number in (None, 3)] == [1, 3]


def test_a_broker_apart_from_the_controllers_only_names_them(tmp_path):
    settings = kraft_broker_settings(
        LabSpec(kafka="4.3.1", controllers=3), BrokerDef(1, 8001, "a"), QUORUM, "h", tmp_path
    )
    assert settings["process.roles"] == "broker"
    assert settings["listeners"] == "PLAINTEXT://h:8001"
    assert settings["controller.quorum.voters"] == "100@h:9100,101@h:9101,102@h:9102"
    assert (settings["node.id"], settings["broker.rack"]) == ("1", "a")
    assert not [key for key in settings if "zookeeper" in key or key in {"broker.id", "advertised.listeners"}]


def test_a_combined_broker_advertises_no_listener_of_the_controller(tmp_path):
    spec = LabSpec(kafka="3.9.2", mode=KRAFT, combined=True, ids=(1,), sasl=("u", "p"))
    voters = {ControllerDef(1, 9001, "d"): "h"}
    settings = kraft_broker_settings(spec, BrokerDef(1, 8001, None, sasl_port=8002), voters, "h", tmp_path)
    assert settings["process.roles"] == "broker,controller"
    assert settings["advertised.listeners"] == "PLAINTEXT://h:8001,SASL_PLAINTEXT://h:8002"
    assert settings["listeners"] == "PLAINTEXT://h:8001,SASL_PLAINTEXT://h:8002,CONTROLLER://h:9001"
    assert "SASL_PLAINTEXT:SASL_PLAINTEXT" in settings["listener.security.protocol.map"]
    assert not [key for key in settings if key.startswith("share.")]


def test_a_controller_has_its_own_listener_and_the_settings_that_decide_about_topics(tmp_path):
    spec = LabSpec(kafka="4.3.1", settings={"min.insync.replicas": "2"})
    [node] = ALONE
    settings = controller_settings(spec, node, ALONE, tmp_path)
    assert settings["process.roles"] == "controller"
    assert settings["listeners"] == "CONTROLLER://h:9100"
    assert settings["min.insync.replicas"] == "2"
    assert settings["share.coordinator.state.topic.replication.factor"] == "3"


def test_a_dynamic_quorum_is_found_by_its_servers_and_formatted_with_its_voters(tmp_path):
    spec = LabSpec(kafka="4.3.1", controllers=3, dynamic_quorum=True)
    settings = kraft_broker_settings(spec, BrokerDef(1, 8001, None), QUORUM, "h", tmp_path)
    assert settings["controller.quorum.bootstrap.servers"] == "h:9100,h:9101,h:9102"
    assert "controller.quorum.voters" not in settings
    voters = "100@h:9100:dir-100,101@h:9101:dir-101,102@h:9102:dir-102"
    assert format_arguments(spec, 101, QUORUM, "id") == ["format", "-t", "id", "--initial-controllers", voters]
    assert format_arguments(spec, 1, QUORUM, "id") == ["format", "-t", "id", "--no-initial-controllers"]


def test_a_static_quorum_needs_no_voters_to_format_and_elr_is_switched_off_there():
    assert format_arguments(LabSpec(kafka="4.3.1"), 1, ALONE, "id") == ["format", "-t", "id"]
    off = ["--feature", "eligible.leader.replicas.version=0"]
    assert format_arguments(LabSpec(kafka="4.3.1", elr=False), 1, ALONE, "id") == ["format", "-t", "id", *off]


def test_a_lab_on_kraft_survives_the_way_to_disk_and_one_of_before_is_read_as_with_zookeeper():
    spec = LabSpec(name="k", kafka="4.3.1", dynamic_quorum=True)
    state = LabState("k", "id", spec, "data", (BrokerDef(1, 2, None),), controllers=tuple(ALONE), cluster_id="c")
    assert from_json(to_json(state), "there") == state
    assert state.ports() == {2, 9100}
    old = to_json(LabState("z", "id", LabSpec(name="z"), "data"))
    for key in ("controllers", "cluster_id"):
        del old[key]
    for key in ("mode", "controllers", "combined", "dynamic_quorum", "elr"):
        del old["spec"][key]
    assert from_json({**old, "spec": {**old["spec"], "zookeepers": 1}}, "there").spec.recipe == recipe_of("2.7.1", ZK)


def test_a_combined_controller_has_no_process_of_its_own():
    apart = LabState("k", "id", LabSpec(name="k", kafka="4.3.1"), "data", controllers=tuple(ALONE))
    assert [each.id for each in apart.members("controller")] == [100]
    assert no_such(apart, "controller", 7).hint == "its controllers: controller 100"
    spec = LabSpec(name="k", kafka="4.3.1", combined=True)
    assert LabState("k", "id", spec, "data", controllers=tuple(ALONE)).members("controller") == ()
    assert word_of("controller", 100) == "controller 100"
