"""Topics are raised, made durable and taken back; leaders balanced; throttles swept; the controller elected again."""

import subprocess
from collections import Counter

import pytest

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import recipe_of
from kfix.lab.nodes.classpath import class_path
from kfix.lab.process.host import program
from tests.cluster.remedy import moves_file
from tests.cluster.seen import in_sync, throttles
from tests.waiting import seconds, wait_until

DURABLE = {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}
LEDGER = "ledger"


def kafkas_own_tool(lab, moves, *how):
    """`kafka-reassign-partitions`, as the lab's Kafka has it."""
    path = class_path(recipe_of(lab.state.spec.kafka), None, lambda _: None)
    words = ["-XX:TieredStopAtLevel=1", "-cp", path, "kafka.admin.ReassignPartitionsCommand"]
    where = ["--bootstrap-server", lab.bootstrap_servers, "--reassignment-json-file", str(moves)]
    return subprocess.run(
        [program("java", "java"), *words, *where, *how],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds(60),
    )


def test_a_weak_topic_is_raised_made_durable_and_all_is_taken_back(operator, cluster):
    cluster.lab.break_("weak-topic")
    before, weak = cluster.access.assignment(LEDGER), cluster.access.configs("topics")[LEDGER]
    leaders = {number: cluster.access.state(LEDGER, number).leader for number in before}
    refused = operator.not_planned("durable-defaults", params={"topic": LEDGER, "min_isr": 3})
    assert "isr_at_least" in refused or "min.insync.replicas 3" in refused
    file = operator.folder / "moves.json"
    planned = operator.plan("raise-topic-rf", "--json-out", file, params={"topic": LEDGER})
    verified = kafkas_own_tool(cluster.lab, file, "--verify")
    assert verified.stdout.count("There is no active reassignment of partition ledger") == 3, verified
    operator.healed(planned)
    raised = cluster.access.assignment(LEDGER)
    assert {len(replicas) for replicas in raised.values()} == {3}
    assert {number: replicas[:2] for number, replicas in raised.items()} == before
    assert {number: cluster.access.state(LEDGER, number).leader for number in before} == leaders
    assert all(in_sync(cluster, TopicPartition(LEDGER, number)) for number in raised)
    assert throttles(cluster) == {}
    done = kafkas_own_tool(cluster.lab, file, "--verify", "--preserve-throttles")
    assert done.stdout.count("is complete") == 3, done

    durable = operator.plan("durable-defaults", params={"topic": LEDGER})
    assert durable.gates == {"no-unclean": "step", "min-isr": "step"}
    operator.healed(durable)
    assert cluster.access.configs("topics")[LEDGER] == DURABLE
    assert cluster.access.produce_error(LEDGER, 0, "all") == ""
    undo, _ = operator.take_back(operator.ran(durable))
    assert undo.plan["undoes"]
    assert cluster.access.configs("topics")[LEDGER] == weak

    raising = operator.ran(planned)
    kept = operator.on("runbook", "rollback", raising.id, "-o", operator.folder / "kept.json")
    assert "--all" in kept.out + kept.err
    operator.take_back(raising, "--all")
    assert cluster.access.assignment(LEDGER) == before
    assert (cluster.access.configs("topics")[LEDGER], throttles(cluster)) == (weak, {})


def test_one_broker_gives_its_leaders_back(operator, cluster):
    broken = cluster.lab.break_("leader-skew")
    planned = operator.plan("leader-balance")
    assert len(planned.ids) == broken.details["not_preferred"]
    assert Counter(planned.gates.values())["step"] == 1
    operator.healed(planned)
    states = cluster.access.states()
    assert all(state.leader == cluster.access.assignment(tp.topic)[tp.partition][0] for tp, state in states.items())
    again, _ = operator.planning("leader-balance")
    assert (again.code, "nothing to do" in again.out.lower()) == (0, True), again.out + again.err


def test_another_controller_is_elected_fenced(operator, cluster):
    before = cluster.access._zk.get("/controller_epoch")[0]
    planned = operator.plan("controller-reelect")
    assert planned.gates == {"reelect-controller": "step"}
    operator.apply(planned, level="plan", code=4)
    assert cluster.access._zk.get("/controller_epoch")[0] == before
    operator.healed(planned)
    assert int(cluster.access._zk.get("/controller_epoch")[0]) == int(before) + 1
    assert operator.diagnose().code == 0


@pytest.mark.parametrize("lagging", ["no", "yes"])
def test_left_over_throttles_are_swept_and_can_be_put_back_as_they_were(operator, cluster, lagging):
    broken = cluster.lab.break_("left-over-throttles", lagging=lagging, rate=12345)
    left = throttles(cluster)
    assert len(left) == 4
    finding = operator.diagnose().findings["KFX503"]
    assert (finding["severity"], finding["remedies"][0]["runbook"]) == ("warning", "sweep-throttles")
    planned = operator.plan("sweep-throttles")
    assert len(planned.ids) == 4
    operator.healed(planned, level="plan")
    assert throttles(cluster) == {}
    for each in broken.partitions:
        wait_until(lambda at=each: in_sync(cluster, TopicPartition(*at)), f"{each} in sync", 30)
    assert "KFX503" not in operator.diagnose().findings
    if lagging == "no":
        operator.take_back(operator.ran(planned))
        assert throttles(cluster) == left


def test_somebody_elses_move_and_its_throttles_are_not_touched(operator, cluster):
    cluster.lab.break_("foreign-reassignment")
    left, moves = throttles(cluster), cluster.moves()
    assert "no_foreign_reassignment" in operator.not_planned("sweep-throttles")
    cluster.access.create_topic("mine", [[1]], {})
    # Also where another topic is to be raised: both would share the brokers, and their throttles.
    for topic in (LEDGER, "mine"):
        assert "ledger-0" in operator.not_planned("raise-topic-rf", params={"topic": topic})
    assert (throttles(cluster), cluster.moves()) == (left, moves)


def test_moves_of_a_file_are_judged_before_anything_is_planned(operator, cluster):
    cluster.lab.break_("weak-topic")
    one = (LEDGER, 0)
    for moves, why in (
        ({one: [1, 1]}, "1"),
        ({one: [1, 9]}, "9"),
        ({("nowhere", 0): [1, 2]}, "nowhere"),
        ({one: []}, "replicas"),
    ):
        file = moves_file(operator, moves, f"bad-{why}.json")
        said, path = operator.planning("move-replicas", "--json-in", file)
        assert said.code in {2, 3}, said.out + said.err
        assert (why in said.err, path.exists()) == (True, False), said.err
    same = moves_file(operator, {one: list(cluster.access.assignment(LEDGER)[0])}, "same.json")
    said, _ = operator.planning("move-replicas", "--json-in", same)
    assert said.code in {0, 3}
    cluster.lab.kill(3)
    dead = moves_file(operator, {one: [1, 2, 3]}, "dead.json")
    said, path = operator.planning("move-replicas", "--json-in", dead)
    assert (said.code in {2, 3}, "3" in said.err, path.exists()) == (True, True, False), said.out + said.err


def test_moves_that_another_tool_can_read_are_carried_out_from_its_file(operator, cluster):
    cluster.lab.break_("weak-topic", megabytes=2)
    file = operator.folder / "made.json"
    operator.plan("raise-topic-rf", "--json-out", file, params={"topic": LEDGER})
    planned = operator.plan("move-replicas", "--json-in", file)
    assert Counter(planned.gates[step["id"]] for step in planned.steps("reassign.move")) == {"step": 1, "plan": 2}
    operator.healed(planned)
    wanted = {int(tp.rpartition("-")[2]): replicas for tp, replicas in planned.replicas().items()}
    assert cluster.access.assignment(LEDGER) == wanted
    assert throttles(cluster) == {}
