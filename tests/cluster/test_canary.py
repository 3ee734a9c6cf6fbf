"""`kfix canary` on real brokers: what it proves, what it finds, and that nothing of it stays.

KFIX_TEST_CANARY_ROUNDS=10000 makes that many rounds instead of 200.
"""

import os
import signal
import subprocess

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kfix.lab import LabSpec
from tests.cluster.conftest import KFIX, WatchedLab, lab_of_its_own
from tests.cluster.watched import metrics, watching
from tests.waiting import seconds, wait_until

ROUNDS = int(os.environ.get("KFIX_TEST_CANARY_ROUNDS", "200"))
LINES = {"2.7.1": "zk", "4.3.1": "kraft"}


def start(version):
    return WatchedLab.up(LabSpec(name="canary", kafka=version, mode=LINES[version]))


own, lab = lab_of_its_own(start, mends=True, params=list(LINES))


@pytest.fixture
def admin(lab):
    return AdminClient({"bootstrap.servers": lab.bootstrap_servers, "log_level": 0})


def held(lab, admin):
    """Everything that a canary could leave behind: topics and groups."""
    with lab.access() as access:
        topics = set(access.topics())
    return topics, {group.group_id for group in admin.list_consumer_groups().result().valid}


def remains(lab, admin, before):
    """Nothing else is left; ZooKeeper has a deleted topic for a moment longer than the brokers."""
    wait_until(lambda: held(lab, admin) == before, lambda: f"{held(lab, admin)} is {before}", 30)


def with_offsets_topic(lab):
    with lab.access() as access:
        access.create_topic("first", [[1, 2, 3]], {})
        access.produce("first", {0: [("key", b"value")]})
        access.join_and_leave("first-readers", "first")


def test_without_an_offsets_topic_it_joins_nothing_and_creates_nothing(lab, admin, kfix):
    if "__consumer_offsets" in held(lab, admin)[0]:
        return
    before = held(lab, admin)
    said = kfix.on("canary", "--create-topic", "--json")
    assert said.code == 22, said.out + said.err
    assert [len(said.json[each]) for each in ("leaders", "coordinators", "left_behind")] == [3, 0, 0]
    assert "__consumer_offsets does not exist" in said.json["untested"][0]
    remains(lab, admin, before)


def test_many_rounds_leave_nothing_behind(lab, admin, kfix):
    with_offsets_topic(lab)
    before = held(lab, admin)
    said = kfix.on("canary", "--create-topic", "--rounds", ROUNDS, "--every", "0", "--json", timeout=ROUNDS * 2)
    assert said.code == 0, said.out + said.err
    assert {(each["tries"], each["failures"]) for each in said.json["leaders"]} == {(ROUNDS, 0)}
    assert {each["broker"] for each in said.json["leaders"]} == {1, 2, 3}
    assert {each["broker"] for each in said.json["coordinators"]} == {1, 2, 3}
    remains(lab, admin, before)


def test_a_topic_is_created_only_on_request_and_one_that_exists_stays(lab, admin, kfix):
    with_offsets_topic(lab)
    before = held(lab, admin)
    refused = kfix.on("canary")
    assert (refused.code, refused.out) == (2, "")
    assert "--create-topic" in refused.err
    assert held(lab, admin) == before
    topic = NewTopic("mine", num_partitions=1, replica_assignment=[[2, 3]])
    admin.create_topics([topic], operation_timeout=10)["mine"].result()
    said = kfix.on("canary", "--topic", "mine", "--create-topic", "--broker", "2", "--partition", "all", "--json")
    assert (said.code, said.json["made_topic"]) == (0, False), said.out + said.err
    assert len(said.json["coordinators"]) == 5
    remains(lab, admin, (before[0] | {"mine"}, before[1]))
    with lab.access() as access:
        access.delete_topic("mine")


def test_the_partition_of_a_stopped_broker_is_named_and_the_others_serve(lab, admin, kfix):
    """Broker 3 still leads its partition, or none does: on KRaft it is fenced after some seconds."""
    with_offsets_topic(lab)
    topic = NewTopic("mine", num_partitions=3, replica_assignment=[[1], [2], [3]])
    admin.create_topics([topic], operation_timeout=10)["mine"].result()
    lab.stop(3)
    try:
        said = kfix.on("canary", "--topic", "mine", "--within", "4s", "--json")
    finally:
        lab.cont(3)
    assert said.code == 21, said.out + said.err
    failed = {each["broker"] for each in said.json["leaders"] if each["failures"]}
    assert failed in ({3}, {None}), said.out
    with lab.access() as access:
        access.delete_topic("mine")


def test_the_partition_whose_groups_hang_is_named_with_the_next_command(lab, kfix):
    if lab.state.spec.mode != "zk":
        return
    broken = lab.break_("coordinator-stuck")
    [stuck] = broken.partitions
    said = kfix.on("canary", "--create-topic", "--within", "10s")
    assert said.code == 21, said.out + said.err
    assert said.out.splitlines()[0] == f"what: groups of {stuck} (no leader): joining did not end in 10 s"
    assert said.out.splitlines()[1].startswith("next: kfix diagnose --bootstrap-server")
    again = kfix.on("canary", "--create-topic", "--within", "10s", "--group", broken.group, "--json")
    assert [each["partition"] for each in again.json["coordinators"]] == [str(stuck)]


def test_a_canary_that_is_ended_removes_its_topic(lab, admin, kfix):
    with_offsets_topic(lab)
    before = held(lab, admin)
    words = ("canary", "--create-topic", "--rounds", "1000", "--bootstrap-server", lab.bootstrap_servers)
    process = subprocess.Popen([KFIX, *words], env=os.environ | {"KFIX_STATE_HOME": str(kfix.home)})
    wait_until(lambda: "kfix-canary" in held(lab, admin)[0], "the topic exists", 30)
    process.send_signal(signal.SIGTERM)
    assert process.wait(seconds(60)) == 22
    remains(lab, admin, before)


def test_a_watch_exports_latency_and_availability(lab, admin, kfix, tmp_path):
    with_offsets_topic(lab)
    assert kfix.on("watch", "--canary", "1s", "--exporter", ":0", "--snapshots", "1").code == 2
    topic = NewTopic("kfix-canary", num_partitions=3, replica_assignment=[[1, 2], [2, 3], [3, 1]])
    admin.create_topics([topic], operation_timeout=10)["kfix-canary"].result()
    groups = held(lab, admin)[1]
    with watching(kfix, tmp_path, "--canary", "1s", "--exporter", ":0") as watch:
        watch.says("metrics: http")
        wait_until(lambda: metrics(watch).get("kfix_watch_canary_rounds_total", 0) >= 2, lambda: watch.text, 60)
        values = metrics(watch)
        assert values["kfix_watch_canary_up"] == 1
        assert 0 < values["kfix_watch_canary_end_to_end_seconds"] < 10
        lab.stop(3)
        try:
            wait_until(lambda: metrics(watch)["kfix_watch_canary_up"] == 0, lambda: watch.text, 60)
        finally:
            lab.cont(3)
        wait_until(lambda: metrics(watch)["kfix_watch_canary_up"] == 1, lambda: watch.text, 90)
        watch.process.send_signal(signal.SIGTERM)
        assert watch.process.wait(seconds(60)) == 0
    with lab.access() as access:
        access.delete_topic("kfix-canary")
    wait_until(lambda: held(lab, admin)[1] <= groups, lambda: f"{held(lab, admin)[1]} is {groups}", 60)
