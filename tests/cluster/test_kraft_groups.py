"""Groups that Kafka 4 added, with real clients: the consumer protocol (librdkafka) and share groups (Kafka's own)."""

import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from kfix.core.derive.coordinator import made_up_groups
from kfix.core.kafka import group_messages
from kfix.core.kafka.questions import ask_group
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline
from kfix.lab import LabSpec
from kfix.lab.clients.asking import ask, connected_to
from kfix.lab.clients.membership import describe_any
from kfix.lab.nodes.classpath import class_path
from tests.cluster.conftest import WatchedLab, lab_of_its_own
from tests.cluster.test_inspect_log_dir import disk_of
from tests.waiting import wait_until

TOPIC = "orders"


def start():
    return WatchedLab.up(LabSpec(name="groups", kafka="4.3.1", offsets_rf=3))


own, lab = lab_of_its_own(start, mends=True)


def read_all(member):
    """Reads every record of the topic and commits, so that no lag leaves a doubt."""
    wait_until(lambda: member.poll(0.5), "the member gets a record")
    while member.poll(1.0) is not None:
        pass
    member.commit(asynchronous=False)


@pytest.fixture
def consumer(lab):
    """A member of the consumer protocol, which has read the topic and committed."""
    lab.break_("healthy")
    settings = {"group.id": "modern", "group.protocol": "consumer", "auto.offset.reset": "earliest", "client.id": "m-1"}
    member = Consumer({"bootstrap.servers": lab.bootstrap_servers, **settings})
    member.subscribe([TOPIC])
    read_all(member)
    yield member
    member.close()


@pytest.fixture
def sharer(lab):
    """A member of a share group, by Kafka's own client."""
    lab.break_("healthy")
    jars = class_path(lab.state.spec.recipe, None, lambda _: None)
    source = Path(__file__).with_name("ShareMember.java")
    command = ["java", "-cp", jars, "-Xmx128m", str(source), lab.bootstrap_servers, "shared", TOPIC]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def coordinator(lab, group):
    found = ask(lab.bootstrap_servers.split(",")[0], group_messages.find_coordinator(group), 5.0)
    return str(found.endpoint)


def settled(lab, group, state="Stable"):
    def seen():
        found = describe_any(coordinator(lab, group), group)
        return found.state == state and found.members and any(each.assigned for each in found.members)

    wait_until(seen, f"group {group} is {state} and has partitions", 30)


def rungs(said):
    return {rung["name"]: rung for rung in said.json["rungs"]}


def test_a_group_of_the_consumer_protocol_is_described_with_its_members(kfix, lab, consumer):
    settled(lab, "modern")
    said = kfix.diagnose("--group", "modern")
    assert said.code == 0, said.out
    found = rungs(said)
    assert "Stable, a group of the consumer protocol (KIP-848): 1 member" in found["state"]["said"]
    assert "not rebalancing" in found["rebalance"]["said"]
    assert "3 partitions" in found["partitions"]["said"]


def test_a_snapshot_holds_the_type_of_each_group(kfix, lab, consumer, tmp_path):
    settled(lab, "modern")
    assert kfix.on("snapshot", "save", "--group", "modern", tmp_path / "s.json").code == 0
    shown = kfix.run("snapshot", "show", "--json", tmp_path / "s.json").json
    types = {group["name"]: (group["group_type"], group["state"]) for group in shown["groups"]}
    assert types["modern"] == ("consumer", "Stable")
    assert set(types.values()) == {("consumer", "Stable"), ("classic", "Empty")}


def test_a_member_of_the_consumer_protocol_keeps_its_offsets_from_being_restored(lab, consumer):
    settled(lab, "modern")
    where = TopicPartition(TOPIC, 0)
    with connected_to(coordinator(lab, "modern")) as line:
        found = ask_group(line, "modern", (where,), Deadline.after(5))
    assert (found.state, found.has_members) == ("Stable", True)
    assert found.committed[where] is not None


def test_a_share_group_is_seen_with_its_members_and_where_it_reads(kfix, lab, sharer):
    settled(lab, "shared")
    # One that was killed before, by a first try, is a member until its session ends.
    wait_until(lambda: len(describe_any(coordinator(lab, "shared"), "shared").members) == 1, "one member", 60)
    said = kfix.diagnose("--group", "shared")
    assert said.code in {0, 22}, said.out
    found = rungs(said)
    assert "Stable, a share group: 1 member" in found["state"]["said"]
    assert "do not wait for each other" in found["rebalance"]["said"]
    assert "commits no offsets" in found["stable offsets"]["said"]
    number = said.json["partition"].rpartition("-")[2]
    stored = kfix.run("inspect", "log-dir", disk_of(lab, lab.broker_ids[0]), "--groups", f"__consumer_offsets-{number}")
    assert "shared (share group): no offsets, 1 member" in stored.out
    plain = kfix.diagnose()
    assert plain.json["findings"] == [], "a share group does not make its coordinator look silent"


def test_a_real_group_with_the_name_of_a_made_up_one_is_a_group(kfix, lab, consumer):
    [name] = made_up_groups({0}, 1)
    settings = {"group.id": name, "auto.offset.reset": "earliest"}
    real = Consumer({"bootstrap.servers": lab.bootstrap_servers, **settings})
    real.subscribe([TOPIC])
    try:
        read_all(real)
        said = kfix.diagnose("--group", name)
        assert said.code == 0, said.out
        assert "a group that does not exist" not in said.out
    finally:
        real.close()


def test_a_member_that_does_not_give_up_its_partitions_holds_a_group_of_the_consumer_protocol(kfix, lab):
    broken = lab.break_("rebalance-held", protocol="consumer")
    said = kfix.diagnose("--group", broken.group)
    assert said.code == 21, said.out
    [finding] = [f for f in said.json["findings"] if f["code"] == "KFX111"]
    assert "adopt the assignment of epoch" in finding["summary"]
    assert "from the others" in finding["summary"]
    assert any(broken.details["member"] in row["what"] for row in finding["evidence"])
    assert rungs(said)["rebalance"]["code"] == "KFX111"
    assert kfix.run("lab", "mend", "--name", lab.name, timeout=60).code == 0
    assert kfix.diagnose().code == 0
