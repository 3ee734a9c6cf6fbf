"""Copying replicas while the world goes on: another throttle, Ctrl-C, a death, somebody else's move, the way back."""

import os
import signal
from dataclasses import dataclass
from itertools import count

import pytest

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.leading import start_move
from kfix.lab.incidents.setup.content import MEGABYTE, bulk
from tests.cluster.killing import chain
from tests.cluster.remedy import moves_file
from tests.cluster.seen import RATES, Cluster, in_sync, throttles
from tests.waiting import seconds, wait_until

THEIRS = "theirs"
NUMBERS = count(1)
SLOW = {"throttle": "20KB/s"}
ORDER = {0: (1,), 1: (1,), 2: (2,)}


@dataclass(frozen=True)
class Cargo(Cluster):
    topic: str

    def at(self, number):
        return TopicPartition(self.topic, number)

    @property
    def first(self):
        return self.at(0)


@pytest.fixture
def cargo(operator, cluster):
    """Three partitions of one replica; the first holds megabytes. A throttle of somebody else stands on broker 1.

    Never the same name twice: on 2.7.1 a broker keeps the half copy of a move that was cancelled ("Ignoring StopReplica
    request"), and would take a new topic of that name for the old one.
    """
    topic = f"cargo{next(NUMBERS)}"
    cluster.lab.break_("healthy")
    # Small segments: a throttled replica fetches at most the rest of one each time its quota is over.
    cluster.access.create_topic(topic, [list(r) for r in ORDER.values()], {"segment.bytes": "200000"})
    cluster.access.produce(topic, {0: bulk(2 * MEGABYTE), 1: bulk(1000), 2: bulk(1000)})
    cluster.access.write_config("brokers", "1", {RATES[0]: "7654321"})
    return Cargo(cluster.lab, cluster.access, topic)


def slow_move(operator, cargo, moves, **params):
    """Planned, begun, and seen to be copying."""
    given = {(cargo.topic, number): replicas for number, replicas in moves.items()}
    planned = operator.plan("move-replicas", "--json-in", moves_file(operator, given), params=SLOW | params)
    going = operator.begin(planned)
    run = operator.ran(planned)
    wait_until(lambda: cargo.first in cargo.moves(), "the first partition moves", 30)
    return planned, going, run


def test_another_throttle_for_a_run_that_copies_beside_another_operators_move(operator, cargo):
    before = throttles(cargo)
    cargo.access.create_topic(THEIRS, [[2]], {})
    _, going, run = slow_move(operator, cargo, {0: [1, 3]})
    wait_until(lambda: [r for r in run.of("progress") if r["bytes_per_second"] is not None], "progress is told", 30)
    first = run.of("progress")[0]
    assert first["bytes_total"] > 2 * MEGABYTE
    assert first["bytes_done"] < first["bytes_total"]
    start_move(cargo.access, TopicPartition(THEIRS, 0), (3,))
    said = operator.run("runbook", "throttle", run.id, "50MB/s")
    assert said.code == 0, said.err
    done = going.over(60)
    assert done.code == 0, done.out + done.err
    assert run.of("throttle.result")[0]["ok"]
    assert run.end == "proved"
    assert "PROVED" in done.out
    assert (cargo.access.assignment(cargo.topic)[0], in_sync(cargo, cargo.first)) == ((1, 3), True)
    assert throttles(cargo) == before
    wait_until(lambda: cargo.access.assignment(THEIRS)[0] == (3,), "their move ended where they wanted it")
    late = operator.run("runbook", "throttle", run.id, "50MB/s")
    assert (late.code, "has ended" in late.err) == (3, True)


def test_ctrl_c_leaves_the_copies_throttled_and_resume_finishes_and_puts_the_throttles_back(operator, cargo):
    before = throttles(cargo)
    cargo.access.produce(cargo.topic, {2: bulk(3 * MEGABYTE)})
    planned, going, run = slow_move(operator, cargo, {0: [1, 3], 2: [2, 3]})
    assert throttles(cargo) != before
    going.interrupt()
    said = going.over(30)
    assert said.code == 6, said.out + said.err
    assert f"resume {run.id}" in said.err
    assert "changed before that" in said.err
    assert f"Kafka is still copying replicas of {cargo.first}, throttled" in said.err
    assert throttles(cargo) != before
    assert cargo.access.assignment(cargo.topic)[2] == (2,)
    # What is left is copied under the same throttles, which are still on; another rate for them is asked for meanwhile.
    going = operator.going("runbook", "resume", run.id, *planned.answers("step", typed=True))
    wait_until(lambda: run.of("run.resumed"), "the run continues", 30)
    assert cargo.first in cargo.moves()
    assert throttles(cargo) != before
    assert operator.run("runbook", "throttle", run.id, "50MB/s").code == 0
    said = going.over(60)
    assert (said.code, run.end) == (0, "proved"), said.out + said.err
    assert {n: cargo.access.assignment(cargo.topic)[n] for n in (0, 2)} == {0: (1, 3), 2: (2, 3)}
    assert (throttles(cargo), cargo.moves()) == (before, {})


def test_a_run_that_was_killed_while_it_copied_is_taken_back_in_mid_copy(operator, cargo):
    before = throttles(cargo)
    _, going, run = slow_move(operator, cargo, {0: [3, 1], 2: [2, 3]})
    going.process.send_signal(signal.SIGKILL)
    going.process.wait(seconds(10))
    assert cargo.first in cargo.moves()
    locked(cargo)
    undo = operator.plan_back(run)
    [cancel] = undo.steps("reassign.cancel")
    # The way back dies as well: before the answer to the cancel is on the disk, and when all is done but the proof.
    # Whether the move was cancelled is read from the cluster, and it is not cancelled again.
    back = chain(operator, cargo, undo, (f"-step.result:{cancel['id']}", "-run.end"))
    assert [r["progress"] for r in back.of("step.probe") if r["step"] == cancel["id"]] == ["done"]
    # The canary had arrived: its copy is good, and kept.
    assert cargo.access.assignment(cargo.topic) == ORDER | {2: (2, 3)}
    assert (throttles(cargo), cargo.moves()) == (before, {})


def locked(cluster):
    """Until the lock of a killed run has gone with its session."""
    wait_until(lambda: cluster.access._zk.exists("/kfix/lock") is None, "the lock is free", 15)


def test_a_killed_run_can_be_aborted_and_its_move_goes_on_without_throttles(operator, cargo):
    before = throttles(cargo)
    _, going, run = slow_move(operator, cargo, {0: [1, 3]})
    os.kill(going.process.pid, signal.SIGKILL)
    going.process.wait(seconds(10))
    locked(cargo)
    said = operator.on("runbook", "abort", run.id, "--reason", "the disk is full")
    assert said.code == 0, said.err
    assert run.end == "aborted"
    assert throttles(cargo) == before
    wait_until(lambda: not cargo.moves(), "the move ends by itself", 30)
    assert in_sync(cargo, cargo.first)


def test_a_destination_that_dies_in_mid_copy_is_left_and_the_others_go_on(operator, cargo):
    before = throttles(cargo)
    # The canary is the smallest: the one that is to die comes in the batch after it.
    planned, going, run = slow_move(operator, cargo, {0: [1, 3], 1: [1, 2], 2: [2, 1]}, prove_within="5s")
    wait_until(lambda: len([r for r in run.of("step.result") if r["step"].startswith("move:")]) == 3, "all are begun")
    cargo.lab.kill(3)
    said = going.over(120)
    assert said.code in {5, 6}, said.out + said.err
    assert f"{cargo.first}" in said.err
    assert "3" in said.err
    assert {n: cargo.access.assignment(cargo.topic)[n] for n in (1, 2)} == {1: (1, 2), 2: (2, 1)}, said.out + said.err
    assert all(in_sync(cargo, cargo.at(n)) for n in (1, 2))
    # No broker that is dead can be told to forget its throttle.
    assert "NOT RESTORED" in said.err
    cargo.lab.restart(3)
    wait_until(lambda: in_sync(cargo, cargo.first), "the replica arrives once its broker is back", 60)
    operator.resume(run, planned)
    assert run.end == "proved"
    assert cargo.access.assignment(cargo.topic) == {0: (1, 3), 1: (1, 2), 2: (2, 1)}
    assert throttles(cargo) == before


def test_a_move_is_not_cancelled_where_that_would_leave_no_replica(operator, cluster):
    broken = cluster.lab.break_("stuck-reassignment", cancel="unsafe")
    before = cluster.moves()
    said = operator.not_planned("cancel-reassignment")
    assert "a cancel would leave it without a leader" in said
    going = next(b for b in broken.dead if b != broken.details["waits_for"])
    assert f"start a broker of [{going}]" in said
    assert cluster.moves() == before
