"""Runs that die by SIGKILL at every kind of record, are gone on with, die again, and heal without a call too many.

`make test` walks through a short chain of deaths on one incident, since each costs the session of a lock; the proofs
kill after every record on a cluster in memory. KFIX_ALL_KILLS=1 walks through long chains, and kills a run after each
record in turn.
"""

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from tests.cluster.killing import ALL, chain, dies_at, killed_and_gone_on_with, locked_no_more, made_once
from tests.cluster.seen import throttles

STUCK_CHAIN = (
    "run.start",
    "-step.result:nudge",
    "step.result:nudge",
    "-run.end",
)
LONG_STUCK_CHAIN = (
    "run.start",
    "run.resumed",
    "-step.intent:nudge",
    "step.intent:nudge",
    "-step.result:nudge",
    "step.result:nudge",
    "-step.verified:nudge",
    "step.verified:nudge",
    "verify.sample:proof",
    "-run.end",
)
RAISE_CHAIN = (
    "step.intent:throttle-brokers:2",
    "-step.result:grow",
    "-step.verified:grow",
    "-step.result:brokers-free",
)
LONG_RAISE_CHAIN = (
    "lock.taken",
    "step.intent:throttle-brokers:2",
    "-step.result:throttle-brokers:2",
    "step.result:throttle-topics",
    "-step.intent:grow",
    "step.intent:grow",
    "-step.result:grow",
    "-step.verified:grow",
    "step.intent:topics-free",
    "-step.result:brokers-free",
    "verify.sample:proof",
)


def stuck(cluster):
    broken = cluster.lab.break_("coordinator-stuck")
    where = TopicPartition(*broken.partitions[0])
    return broken, where, cluster.access.state(*where).leader_epoch


def test_the_nudge_is_made_once_however_often_its_run_dies(operator, cluster):
    broken, where, epoch = stuck(cluster)
    run = chain(operator, cluster, operator.plan("coordinator-stuck"), LONG_STUCK_CHAIN if ALL else STUCK_CHAIN)
    made_once(run)
    # The controller raises the epoch once a nudge.
    assert cluster.access.state(*where).leader_epoch == epoch + 1
    assert cluster.works(broken.group)


def test_a_raise_is_made_once_however_often_its_run_dies(operator, cluster):
    cluster.lab.break_("offsets-rf1", kill="no")
    epochs = epochs_of(cluster)
    planned = operator.plan("raise-offsets-rf", params={"batch": 2})
    run = chain(operator, cluster, planned, LONG_RAISE_CHAIN if ALL else RAISE_CHAIN)
    made_once(run)
    raised(cluster, planned, epochs)


def test_a_run_that_died_is_told_by_the_next_diagnosis_until_it_is_aborted(operator, cluster):
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


if ALL:

    @pytest.mark.timeout(7200)
    def test_a_nudge_killed_after_each_record_in_turn(operator, cluster):
        died, number = True, 0
        while died:
            number += 1
            operator.moves_house(f"state-{number}")
            broken, where, epoch = stuck(cluster)
            died = killed_and_gone_on_with(operator, cluster, operator.plan("coordinator-stuck"), number)
            assert cluster.access.state(*where).leader_epoch == epoch + 1
            assert cluster.works(broken.group)
            cluster.lab.mend()
            print(number, flush=True)  # noqa: T201
        print(f"coordinator-stuck: killed after each of {number - 1} records")  # noqa: T201

    @pytest.mark.timeout(7200)
    def test_a_raise_killed_after_each_record_in_turn(operator, cluster):
        cluster.lab.break_("offsets-rf1", kill="no")
        single = {TopicPartition(OFFSETS_TOPIC, n): r for n, r in cluster.access.assignment(OFFSETS_TOPIC).items()}
        died, number = True, 0
        while died:
            number += 1
            operator.moves_house(f"state-{number}")
            cluster.access.reassign(single)
            epochs = epochs_of(cluster)
            planned = operator.plan("raise-offsets-rf", params={"batch": 2})
            died = killed_and_gone_on_with(operator, cluster, planned, number)
            raised(cluster, planned, epochs)
            print(number, flush=True)  # noqa: T201
        print(f"raise-offsets-rf: killed after each of {number - 1} records")  # noqa: T201
