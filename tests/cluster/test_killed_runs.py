"""Runs that die by SIGKILL, are resumed, die again, and heal without a call too many.

One chain of deaths an incident, since each costs the session of a lock. tests/proofs/test_kills.py kills after every
record on a cluster in memory, tests/deaths on real brokers.
"""

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from tests.cluster.killing import chain, dies_at, locked_no_more
from tests.cluster.seen import throttles

STUCK_CHAIN = (
    "run.start",
    "-step.result:nudge",
    "step.result:nudge",
    "-run.end",
)
RAISE_CHAIN = (
    "step.intent:throttle-brokers:2",
    "-step.result:grow",
    "-step.verified:grow",
    "-step.result:brokers-free",
)


def stuck(cluster):
    broken = cluster.lab.break_("coordinator-stuck")
    where = TopicPartition(*broken.partitions[0])
    return broken, where, cluster.access.state(*where).leader_epoch


def test_the_nudge_is_made_once_however_often_its_run_dies(operator, cluster):
    broken, where, epoch = stuck(cluster)
    chain(operator, cluster, operator.plan("coordinator-stuck"), STUCK_CHAIN)
    # The controller raises the epoch once a nudge.
    assert cluster.access.state(*where).leader_epoch == epoch + 1
    assert cluster.works(broken.group)


def test_a_raise_is_made_once_however_often_its_run_dies(operator, cluster):
    cluster.lab.break_("offsets-rf1", kill="no")
    epochs = epochs_of(cluster)
    planned = operator.plan("raise-offsets-rf", params={"batch": 2})
    chain(operator, cluster, planned, RAISE_CHAIN)
    raised(cluster, planned, epochs)


def test_a_run_that_died_is_reported_by_the_next_diagnosis_until_it_is_aborted(operator, cluster):
    cluster.lab.break_("offsets-rf1", kill="no")
    planned = operator.plan("raise-offsets-rf", params={"batch": 2})
    answers = planned.answers("step", typed=True)
    assert dies_at(operator, "step.result:throttle-topics", "runbook", "apply", "--plan", planned.path, *answers)
    [run] = operator.runs()
    locked_no_more(cluster)
    said = operator.diagnose()
    [told] = said.json["unfinished_runs"]
    assert (told["id"], told["outcome"], told["alive"], told["throttles"]) == (run.id, "", False, True)
    assert "throttle-topics" in told["changed"]
    assert said.code == 20
    commands = [remedy["command"] for remedy in said.findings["KFX503"]["remedies"]]
    assert commands == [f"kfix runbook resume {run.id}", f"kfix runbook abort {run.id} --reason TEXT"]
    assert operator.on("runbook", "abort", run.id, "--reason", "a test").code == 0
    after = operator.diagnose()
    assert after.json["unfinished_runs"] == []
    assert "KFX503" not in after.findings
    assert throttles(cluster) == {}


def epochs_of(cluster):
    return {n: cluster.access.state(OFFSETS_TOPIC, n).leader_epoch for n in cluster.access.assignment(OFFSETS_TOPIC)}


def raised(cluster, planned, before):
    """As a raise without a death leaves it; the controller raises the epoch twice a move, at its begin and its end."""
    wanted = {int(tp.rpartition("-")[2]): replicas for tp, replicas in planned.replicas().items()}
    assert cluster.access.assignment(OFFSETS_TOPIC) == wanted
    assert (throttles(cluster), cluster.moves()) == ({}, {})
    assert {number: epoch - before[number] for number, epoch in epochs_of(cluster).items()} == dict.fromkeys(before, 2)
