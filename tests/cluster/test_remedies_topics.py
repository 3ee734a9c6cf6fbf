"""Topics are raised, made durable and rolled back, as Kafka's own tool sees it; the controller is elected again."""

import subprocess
from collections import Counter

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import recipe_of
from kfix.lab.nodes.classpath import class_path
from kfix.lab.process.host import program
from tests.cluster.seen import in_sync, throttles
from tests.waiting import seconds

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
    kept = operator.on("runbook", "rollback", raising.id, "--output-file", operator.folder / "kept.json")
    assert "--all" in kept.out + kept.err
    operator.take_back(raising, "--all")
    assert cluster.access.assignment(LEDGER) == before
    assert (cluster.access.configs("topics")[LEDGER], throttles(cluster)) == (weak, {})


def test_another_controller_is_elected_fenced(operator, cluster):
    before = cluster.access._zk.get("/controller_epoch")[0]
    planned = operator.plan("controller-reelect")
    assert planned.gates == {"reelect-controller": "step"}
    operator.apply(planned, level="plan", code=4)
    assert cluster.access._zk.get("/controller_epoch")[0] == before
    operator.healed(planned)
    assert int(cluster.access._zk.get("/controller_epoch")[0]) == int(before) + 1
    assert operator.diagnose().code == 0


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
