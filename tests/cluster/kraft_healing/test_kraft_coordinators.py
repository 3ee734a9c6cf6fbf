"""A coordinator of Kafka 4 that gave its partition up: coordinator-failed and coordinator-not-answering heal it."""

import json

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.asking_controllers import set_feature
from tests.cluster.killing import chain, dies_at
from tests.cluster.kraft_healing.conftest import committed
from tests.cluster.seen import consumed
from tests.waiting import wait_until


def test_a_coordinator_that_gave_up_serves_the_same_offsets_however_often_its_run_dies(operator, cluster):
    broken = cluster.lab.break_("coordinator-failed")
    [where] = broken.partitions
    before, order = cluster.access.configs("topics").get(OFFSETS_TOPIC), cluster.access.assignment(OFFSETS_TOPIC)
    follower = next(b for b in cluster.lab.broker_ids if b != broken.details["named"])
    cluster.lab.kill(follower)
    wait_until(lambda: follower not in cluster.access.state(*where).isr, "the dead replica has left the ISR", 20)
    assert "cannot be compacted there" in operator.not_planned("coordinator-failed")
    cluster.lab.restart(follower)
    wait_until(lambda: len(cluster.access.state(*where).isr) == 3, "all replicas are in sync", 20)
    found = operator.diagnose("--debounce", "1").findings["KFX118"]
    assert [r["runbook"] for r in found["remedies"]][:2] == ["", "coordinator-failed"]
    planned = operator.plan("coordinator-failed")
    assert (planned.gates["delete"], planned.gates["hasten"]) == ("typed", "typed")
    points = ("-step.result:delete", "-step.result:round-1", "-step.result:lead")
    chain(operator, cluster, planned, points)
    assert cluster.access.configs("topics").get(OFFSETS_TOPIC) == before
    assert cluster.access.state(*where).leader != broken.details["named"]
    assert cluster.access.assignment(OFFSETS_TOPIC) == order
    [saved] = [c["args"]["offsets"] for c in planned.plan["goal"]["checks"] if c["check"] == "offsets_at_least"]
    assert committed(cluster, broken.group) == {
        TopicPartition("orders", int(number)): int(text.partition("@")[0]) for number, text in json.loads(saved).items()
    }
    assert consumed(cluster, broken.group, wanted=1) == 1


def test_the_settings_of_compaction_are_restored_by_an_abort_and_unknown_records_are_refused(operator, cluster):
    broken = cluster.lab.break_("coordinator-failed")
    [where] = broken.partitions
    before = cluster.access.configs("topics").get(OFFSETS_TOPIC)
    planned = operator.plan("coordinator-failed")
    answers = planned.answers("step", typed=True)
    assert dies_at(operator, "step.result:hasten", "runbook", "apply", "--plan", planned.path, *answers)
    assert cluster.access.configs("topics")[OFFSETS_TOPIC]["delete.retention.ms"] == "0"
    [run] = operator.runs()
    assert operator.on("runbook", "abort", run.id, "--reason", "a test").code == 0
    assert cluster.access.configs("topics").get(OFFSETS_TOPIC) == before
    # Neither of the next two would be gone after the compaction of the one key that kfix deletes.
    operator.moves_house("another")
    other = broken.group.encode() + b"-2"
    member = b"\0\5" + b"".join(len(w).to_bytes(2, "big") + w for w in (broken.group.encode(), b"member"))
    cluster.access.write_internal(where, [(member, None, 0)])
    assert "records of 2 keys" in operator.not_planned("coordinator-failed")
    offset = b"\0\1" + b"".join(len(w).to_bytes(2, "big") + w for w in (other, b"orders")) + bytes(4)
    cluster.access.write_internal(where, [(offset, b"\0\x09", 0)])
    assert "a version that kfix does not know" in operator.not_planned("coordinator-failed")


def test_a_coordinator_that_does_not_answer_leads_elsewhere(operator, cluster):
    """Without the feature `group.version`, a coordinator that gave up is one that does not answer; its log is clean."""
    broken = cluster.lab.break_("coordinator-failed")
    [where] = broken.partitions
    order = cluster.access.assignment(OFFSETS_TOPIC)
    planned = operator.plan("coordinator-failed")
    answers = planned.answers("step", typed=True)
    assert dies_at(operator, "-step.intent:reorder", "runbook", "apply", "--plan", planned.path, *answers)
    [run] = operator.runs()
    assert operator.on("runbook", "abort", run.id, "--reason", "a test").code == 0
    operator.moves_house("another")
    assert "recognizes no record on which its load fails" in operator.not_planned("coordinator-failed")
    address = cluster.lab.address(broken.details["named"])
    assert set_feature(address, "group.version", 0) == 0
    planned = operator.plan("coordinator-not-answering", params={"settle": "2s"})
    assert planned.ids == ["let-it-load", "put-another-first", "lead-elsewhere", "order-back"]
    operator.healed(planned)
    assert set_feature(address, "group.version", 1) == 0
    assert cluster.access.state(*where).leader != broken.details["named"]
    assert cluster.access.assignment(OFFSETS_TOPIC) == order
    assert set(committed(cluster, broken.group).values()) <= {10, 11}
    assert consumed(cluster, broken.group, wanted=1) == 1
