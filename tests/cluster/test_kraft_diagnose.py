"""`kfix diagnose` on KRaft: one cluster of Kafka 4.3.1 with a controller apart, healthy and with its quorum lost."""

import json
import re
import socket
from functools import partial

import pytest
from confluent_kafka import Consumer, TopicPartition

from kfix.core.errors import LabError
from kfix.core.snapshot.snapshot import TopicPartition as Place
from kfix.lab import LabSpec
from kfix.lab.clients.leading import start_move
from kfix.lab.nodes import brokers
from kfix.lab.nodes.start import wait_brokers
from tests.cluster.asked import HARMLESS, asked_by, reading
from tests.cluster.conftest import WatchedLab, lab_of_its_own
from tests.cluster.watched import LONG, inbox, posting_to, watching
from tests.waiting import wait_until

CONTROLLER = 100
DEADLINE = 3.0


def start():
    return WatchedLab.up(LabSpec(name="reading", kafka="4.3.1", offsets_rf=3))


own, lab = lab_of_its_own(start, mends=True)


@pytest.fixture
def hanging():
    """An address that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def is_healthy(said):
    return (said.code, said.json["findings"], said.json["could_not_read"]) == (0, [], [])


def once_healthy(kfix):
    """Diagnoses until the cluster is healthy again: a controller that returns elects, and brokers fetch from it."""
    return kfix.until(is_healthy, "the cluster is healthy", "--debounce", "0")


def test_a_healthy_cluster_is_healthy_and_everything_of_it_was_read(kfix):
    assert once_healthy(kfix).json["notes"] == []
    text = kfix.on("diagnose").out
    assert ": healthy (" in text
    assert "not read" not in text


def test_the_snapshot_holds_the_quorum_and_show_prints_it(kfix, tmp_path):
    file = tmp_path / "s.json"
    assert kfix.on("snapshot", "save", file).code == 0
    shown = kfix.run("snapshot", "show", file).out
    assert f"active controller {CONTROLLER}" in shown
    quorum = kfix.run("snapshot", "show", "--json", file).json["quorum"]
    assert quorum["leader"] == CONTROLLER
    assert {row[0] for row in quorum["observers"]} == set(kfix.lab.broker_ids)
    assert all(offset >= quorum["high_watermark"] - 1 for offset in quorum["offsets"].values())
    assert quorum["features"]["eligible.leader.replicas.version"] == 1
    assert quorum["fenced"] == []
    again_healthy = kfix.run("diagnose", "--json", "--from", file)
    assert is_healthy(again_healthy), again_healthy.out


def waited_once(said):
    """Whether no server that hangs was waited for after another one; benchmarks/first_verdict.py measures the time."""
    return said.waited < 2 * DEADLINE


@pytest.mark.parametrize("kind", ["dead", "hanging"])
def test_a_zookeeper_that_is_left_over_is_ignored_and_named_in_one_line(kfix, hanging, kind):
    once_healthy(kfix)
    address = hanging if kind == "hanging" else "127.0.0.1:1"
    said = kfix.diagnose("--zookeeper", address, "--timeout", DEADLINE)
    assert is_healthy(said), said.out
    assert said.json["notes"] == [f"ZooKeeper at {address} was ignored: this cluster runs on KRaft"]
    assert waited_once(said)


def test_with_a_dead_controller_the_lost_quorum_is_named_and_all_else_is_read(kfix, lab):
    once_healthy(kfix)
    lab.kill(CONTROLLER, "controller")
    said = kfix.diagnose("--debounce", "0", "--timeout", DEADLINE)
    assert waited_once(said)
    assert said.code == 21
    assert said.json["could_not_read"] == []
    finding = said.findings["KFX811"]
    assert f"controller {CONTROLLER} does not respond" in finding["summary"]
    assert f"Start controller {CONTROLLER}" in finding["remedies"][0]["text"]
    assert said.json["looked_at"]["brokers"] == len(lab.broker_ids)
    assert "kfix runbook" not in said.out
    # No answer dates the loss; the snapshot before does, by the metadata that has not moved since.
    later = kfix.diagnose("--debounce", "0", "--timeout", DEADLINE)
    assert re.search(r"The metadata has stood still for [1-9]\d? s at least", later.findings["KFX811"]["summary"])


def test_a_wrong_address_of_a_controller_hides_nothing(kfix):
    once_healthy(kfix)
    assert is_healthy(kfix.diagnose("--bootstrap-controller", "127.0.0.1:1"))
    wrong = kfix.diagnose("--bootstrap-controller", "127.0.0.1")
    assert wrong.code == 2
    assert "--bootstrap-controller" in wrong.err


def test_an_empty_isr_names_the_broker_to_start_and_starting_it_loses_nothing(kfix, lab, tmp_path):
    """A watch reports the dead broker, whose consequence it is, once; a second one ends when all is healthy again."""
    once_healthy(kfix)
    (second := tmp_path / "second").mkdir()
    with inbox() as (url, notices):
        options = ("--every", "1", "--notify", posting_to(tmp_path, url))
        # Not before: on the way there other brokers are dead for a while, which a watch may see.
        broken = lab.break_("elr-struck")
        [dead] = broken.dead
        gone = f"KFX401 broker {dead}"
        with watching(kfix, tmp_path, *options) as watch:
            at = watch.says(gone, "critical")
            said = kfix.diagnose("--debounce", "0")
            with watching(kfix, second, "--every", "1", "--until", "healthy") as waiting:
                waiting.says(f"new critical {gone}")
                lab.restart(dead)
                assert waiting.process.wait(LONG) == 0
                assert waiting.text.rstrip().endswith(": healthy")
            at = watch.says(f"fixed {gone}", after=at)
            watch.says(": healthy", after=at)
            assert watch.ends() == 0
    # A broker that starts is fenced for a moment: then what its death explained may be an alarm of its own.
    alarms = {n["key"]: n for n in notices if n["severity"] == "critical" and n["kind"] in ("new", "worse")}
    alarm = alarms[f"KFX401:broker {dead}"]
    assert ("ledger-0" in json.dumps(alarm["blocked"]), bool(alarm["next"])) == (True, True)
    kinds = [n["kind"] for n in notices if n["key"] == alarm["key"]]
    assert (kinds[0], kinds[-1], len(set(kinds))) == ("new", "fixed", len(kinds))
    assert said.code == 21
    assert "KFX103" not in said.findings
    finding = said.findings["KFX119"]
    assert f"waits for broker {dead}, which is dead. Once started, it leads without data loss" in finding["summary"]
    assert finding["remedies"][0]["text"].startswith(f"Start broker {dead} with its old disk")
    assert "min.insync.replicas" in finding["never"][0]
    assert high_watermark(lab, broken) == RECORDS_OF_ELR_STRUCK, "no record was lost"


def test_without_the_remedy_the_controller_fails_on_the_registration(lab, kfix):
    """What the remedy saves from: its epoch grows, and the broker does not register."""
    once_healthy(kfix)
    broken = lab.break_("last-known-leader-gone")
    quorum = lab.quorum
    before = quorum.active().epoch
    [dead] = broken.dead
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(brokers, "wait_brokers", partial(wait_brokers, seconds=15))
        with pytest.raises(LabError):
            lab.restart(dead)
    assert wait_until(quorum.active, "an active controller", 20).epoch > before
    lab.mend()

    def steady(said):
        """The elections of the last minute were real, and earlier snapshots hold them: KFX815 until one is steady."""
        return said.code in (0, 20) and said.findings.keys() <= {"KFX815"} and said.json["could_not_read"] == []

    kfix.until(steady, "all else is healthy", "--debounce", "0")


#: 20 records that all replicas had, and 5 that only the eligible broker and the last leader have.
RECORDS_OF_ELR_STRUCK = 25


def high_watermark(lab, broken):
    consumer = Consumer({"bootstrap.servers": lab.bootstrap_servers, "group.id": "watermark"})
    try:
        return consumer.get_watermark_offsets(TopicPartition(*broken.partitions[0]), timeout=20)[1]
    finally:
        consumer.close()


def test_a_broker_that_was_started_as_another_cluster_is_one_finding_and_nothing_of_it_is_used(kfix, lab):
    once_healthy(kfix)
    told = lab.break_("wrong-cluster-id")
    [lost], address = told.dead, told.details["address"]
    listed = lab.bootstrap_servers.split(",")
    # Whichever of them answers first: most of them are of one cluster. One of its brokers alone knows the address, too.
    for servers in (listed, listed[::-1], [each for each in listed if each != address][:1]):
        options = ("--json", "--debounce", "0", "--bootstrap-server", ",".join(servers))
        said = kfix.run("diagnose", *options)
        [finding] = [each for each in said.json["findings"] if each["severity"] == "warning"]
        assert (finding["code"], finding["object"]) == ("KFX817", f"cluster {told.details['other']}")
        assert f"{address}, the address of broker {lost}, belongs to another cluster" in finding["summary"]
        assert finding["remedies"][0]["text"].startswith(
            f"Stop the process of another cluster at {address}, then start"
        )
        assert "KFX401" in {each["code"] for each in finding["folded"]}
        assert said.json["looked_at"]["brokers"] == len(listed) - 1
    said = kfix.run("diagnose", *options, "--bootstrap-controller", told.details["controller"])
    assert told.details["controller"] in said.findings["KFX817"]["summary"]
    said = kfix.on("runbook", "plan", "leader-balance")
    assert (said.code, "the servers are of two clusters" in said.err) == (3, True), said.err
    lab.mend()
    once_healthy(kfix)


def test_commands_that_read_ask_brokers_and_controllers_for_nothing_that_changes_them(kfix, lab, tmp_path):
    with lab.access() as access:
        topics = access.topics()
    once_healthy(kfix)
    kfix.on("diagnose", "--group", "a-group-of-no-consumer")
    with lab.access() as access:
        assert access.topics() == topics, "a question made an internal topic"
    broken = lab.break_("elr-struck")
    plans = (
        ("runbook", "plan", "isr-dead", "--debounce", "1"),
        ("runbook", "plan", "unclean-election", "--debounce", "1", "-p", "max_loss=-1"),
        ("runbook", "plan", "sweep-throttles", "--debounce", "1"),
    )
    names = asked_by(kfix, (*reading(lab, tmp_path, broken.group), *plans))
    assert {node: found - HARMLESS for node, found in names.items()} == {node: set() for node in names}
    assert "DESCRIBE_QUORUM" in names["controller", CONTROLLER]
    brokers = set().union(*(found for (role, _), found in names.items() if role == "broker"))
    assert {"METADATA", "FIND_COORDINATOR", "DESCRIBE_TOPIC_PARTITIONS", "FETCH", "LIST_OFFSETS"} <= brokers


def test_a_move_without_progress_is_dated_by_earlier_snapshots_and_never_found_by_one(kfix, lab, tmp_path):
    """The earlier snapshot is made older in the memory of kfix: nobody waits ten minutes."""
    once_healthy(kfix)
    throttled = {f"{side}.replication.throttled.replicas": "*" for side in ("leader", "follower")}
    rates = {f"{side}.replication.throttled.rate": "1" for side in ("leader", "follower")}
    with lab.access() as access:
        for broker in lab.broker_ids:
            access.write_config("brokers", str(broker), rates)
        access.create_topic("ledger", [[1]], throttled)
        for _ in range(8):
            access.produce("ledger", {0: [("key", bytes(300_000))] * 3})
        start_move(access, Place("ledger", 0), (2,))
    said = kfix.diagnose("--debounce", "0")
    assert "KFX501" not in said.findings, said.out
    [memory] = kfix.home.rglob("memory.json")
    raw = json.loads(memory.read_text())
    assert list(raw["moves"]) == ["ledger"], said.out
    since, last, [[broker, end]] = raw["moves"]["ledger"].pop("0")
    assert (raw["moves"]["ledger"], broker) == ({}, 2)
    assert 0 <= end < 24, "the throttle stopped it before its end"
    raw["moves"]["ledger"]["0"] = [since - 900, last, [[broker, end]]]
    memory.write_text(json.dumps(raw))
    found = kfix.diagnose("--debounce", "0").findings["KFX501"]
    assert "ledger-0 has made no progress for at least 15 min" in found["summary"]
    # And once it gains records, it is none.
    with lab.access() as access:
        for broker in lab.broker_ids:
            access.write_config("brokers", str(broker), {})
        access.write_config("topics", "ledger", {})
    kfix.until(lambda said: said.json["notes"] == [], "the move has ended", "--debounce", "0")
    assert json.loads(memory.read_text())["moves"] == {}
