"""Runbooks on KRaft, Kafka 4.3.1 with a controller apart: refusals, deaths, and what the matrix does not show."""

import os
import subprocess
import sys
from pathlib import Path

import confluent_kafka
from confluent_kafka.admin import AdminClient

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.kafka import requests
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.leading import start_move
from tests.cluster.killing import chain
from tests.cluster.kraft_healing.conftest import committed
from tests.cluster.remedy import moves_file, operating
from tests.cluster.seen import throttles
from tests.cluster.test_remedies_isr import named, proved, waiting
from tests.waiting import seconds, wait_until

CONTROLLER = 100
LEDGER = TopicPartition("ledger", 0)
FREEZER = Path(__file__).parents[1] / "frozen.py"
UNCLEAN = "unclean.leader.election.enable"


def test_offsets_are_raised_however_often_the_run_dies_and_need_the_gate_of_each_step(operator, cluster):
    cluster.lab.break_("offsets-rf1", kill="no")
    planned = operator.plan("raise-offsets-rf", params={"batch": 2})
    assert any("the lock covers this host only" in warning for warning in planned.plan["warnings"])
    said = operator.apply(planned, level="plan", code=4)
    assert f"step:{planned.short}" in said.err
    assert throttles(cluster) == {}
    operator.moves_house("dying")
    planned = operator.plan("raise-offsets-rf", params={"batch": 2})
    points = ("lock.taken", "step.intent:throttle-brokers:2", "-step.result:grow", "-step.result:brokers-free")
    run = chain(operator, cluster, planned, points)
    assert not any(record["exclusive"] for record in run.of("lock.taken"))
    wanted = {int(tp.rpartition("-")[2]): replicas for tp, replicas in planned.replicas().items()}
    assert cluster.access.assignment(OFFSETS_TOPIC) == wanted
    assert (throttles(cluster), cluster.moves()) == ({}, {})
    assert "KFX303" not in operator.diagnose().findings


def test_moves_of_a_file_are_carried_out_and_taken_back(operator, cluster):
    cluster.lab.break_("healthy")
    cluster.access.create_topic("cargo", [[1], [2]], {})
    planned = operator.plan("move-replicas", "--json-in", moves_file(operator, {("cargo", 0): [2, 3]}))
    operator.healed(planned)
    assert cluster.access.assignment("cargo") == {0: (2, 3), 1: (2,)}
    operator.take_back(operator.ran(planned), "--all")
    assert cluster.access.assignment("cargo") == {0: (1,), 1: (2,)}


def test_saved_offsets_are_committed_again_and_taken_back(operator, cluster):
    broken = cluster.lab.break_("healthy")
    old, path = committed(cluster, broken.group), operator.folder / "offsets.json"
    assert operator.on("offsets", "save", "--partition", "all", "--output-file", path).code == 0
    earlier = [confluent_kafka.TopicPartition(*tp, 0) for tp in old]
    group = confluent_kafka.ConsumerGroupTopicPartitions(broken.group, earlier)
    admin = AdminClient({"bootstrap.servers": cluster.lab.bootstrap_servers})
    [done] = admin.alter_consumer_group_offsets([group]).values()
    done.result(10)
    assert set(committed(cluster, broken.group).values()) == {0}
    planned = operator.plan("restore-offsets", "--offsets", path, params={"group": broken.group})
    operator.healed(planned)
    assert committed(cluster, broken.group) == old
    operator.take_back(operator.ran(planned))
    assert set(committed(cluster, broken.group).values()) == {0}


def test_the_registration_of_a_broker_that_is_gone_is_removed_and_that_of_a_live_one_never(operator, cluster):
    ghost = cluster.lab.break_("ghost-registration").details["ghost"]
    said = operator.diagnose("--debounce", "0")
    assert f"broker={ghost}" in said.findings["KFX405"]["remedies"][-1]["command"]
    asked = {"broker": ghost, "dead_for": "3s", "settle": "1s"}
    assert "may be restarting" in operator.not_planned("remove-ghost-registration", params=asked | {"dead_for": "1h"})
    assert "is alive" in operator.not_planned("remove-ghost-registration", params=asked | {"broker": 1})
    planned = operator.plan("remove-ghost-registration", params=asked)
    # The restarted broker is known again: nothing of the old plan is done.
    cluster.lab.restart(ghost)
    operator.apply(planned, code=3)
    cluster.lab.kill(ghost)
    operator.until(lambda said: "KFX405" in said.findings, "it is a ghost again", "--debounce", "0")
    operator.moves_house("second")
    # A process each time: a plan is written, and the second one of this process would meet the file of the first.
    wait_until(
        lambda: operator.planning("remove-ghost-registration", params=asked)[0].code == 0, "gone for 3 s", 30, pause=1
    )
    operator.healed(operator.plan("remove-ghost-registration", params=asked))
    assert "KFX405" not in operator.diagnose("--debounce", "0").findings


def test_a_move_that_never_ends_is_cancelled_or_ends_at_the_target_that_is_named(operator, cluster):
    told = cluster.lab.break_("move-never-ends").details
    found = operator.diagnose().findings
    assert ("KFX504" in found, "KFX501" in found) == (True, False)
    operator.healed(operator.plan("cancel-reassignment"))
    assert (cluster.moves(), cluster.access.assignment("ledger")[0]) == ({}, (told["origin"],))
    cluster.lab.mend()
    told = cluster.lab.break_("move-never-ends").details
    before = cluster.moves()
    file = moves_file(operator, {LEDGER: [told["kept"]]})
    assert "1 under way: ledger-0" in operator.not_planned("move-replicas", "--json-in", file)
    assert cluster.moves() == before
    end = before[LEDGER].ending_target
    text = operator.diagnose().findings["KFX504"]["remedies"][1]["text"]
    assert f"reassign 1 partition to {list(end)}" in text
    start_move(cluster.access, LEDGER, end)
    wait_until(lambda: cluster.moves() == {}, "the move ends")
    assert set(cluster.access.assignment("ledger")[0]) == {told["kept"], told["both"]}


def test_the_eligible_broker_is_named_and_its_start_elects_the_last_leader_without_a_loss(operator, cluster):
    broken = cluster.lab.break_("elr-struck")
    told = broken.details
    planned = operator.plan("isr-dead", params={"within": "60s"})
    [what] = named(planned).values()
    assert f"start broker {told['eligible']} with its old disk" in what
    assert f"if broker {told['eligible']} was killed, it is no longer eligible once it is back" in what
    assert f"then broker {told['last_leader']}, which led last and is alive, is elected automatically" in what
    # What would remove the eligible replicas, or elect another one at the start, is refused.
    said = operator.not_planned("durable-defaults", params={"topic": "ledger"})
    assert "isr_at_least" in said or "elr_not_needed" in said
    going, run = waiting(operator, planned)
    cluster.lab.restart(told["eligible"])
    proved(going, run)
    state = cluster.access.state(*LEDGER)
    assert (state.leader, cluster.end(state.leader, LEDGER).offset) == (
        told["last_leader"],
        told[f"log_end_{told['last_leader']}"],
    )


def test_an_unclean_election_takes_the_last_leader_and_no_record_is_lost(operator, cluster):
    broken = cluster.lab.break_("elr-struck")
    told = broken.details
    last, end = told["last_leader"], told[f"log_end_{told['last_leader']}"]
    assert told["would_win"] != last
    assert "the number of lost records is unknown" in operator.not_planned("unclean-election")
    planned = operator.plan("unclean-election", params={"max_loss": -1})
    [election] = planned.steps("leader.elect_unclean")
    assert (election["args"]["winner"], election["gate"]) == (last, "typed")
    points = ("-step.result:longest-log-first", "-step.result:elect-unclean", "-run.end")
    chain(operator, cluster, planned, points)
    state = cluster.access.state(*LEDGER)
    assert (state.leader, cluster.end(last, LEDGER).offset) == (last, end)


# --- refusals, and what may happen later ------------------------------------------------------------------------------


def test_nothing_is_planned_or_sent_while_no_controller_answers(operator, cluster):
    cluster.lab.break_("leader-skew")
    planned = operator.plan("leader-balance")
    cluster.lab.stop(CONTROLLER, "controller")
    said = operator.on("runbook", "apply", "--plan", planned.path, *planned.answers("step", typed=True))
    assert said.code == 3, said.out + said.err
    assert "nothing was changed" in said.err
    said, path = operator.planning("leader-balance")
    assert (said.code != 0, path.exists()) == (True, False), said.out + said.err
    cluster.lab.cont(CONTROLLER, "controller")


def test_a_change_whose_controller_froze_is_unknown_read_again_and_never_sent_again(operator, cluster):
    cluster.lab.break_("healthy")
    cluster.access.create_topic("cargo", [[1], [2]], {})
    planned = operator.plan("move-replicas", "--json-in", moves_file(operator, {("cargo", 0): [1, 3]}))
    [pid] = [p.pid for p in cluster.lab.status().processes if p.role == "controller"]
    env = os.environ | {"KFIX_STATE_HOME": str(operator.home), "NO_COLOR": "1", "COLUMNS": "120"}
    words = ["runbook", "apply", "--plan", planned.path, *planned.answers("step", typed=True), *operator.where]
    command = [sys.executable, str(FREEZER), str(pid), str(requests.ALTER_REASSIGNMENTS), *map(str, words)]
    out = operator.folder / "frozen.out"
    with out.open("w") as file:
        going = subprocess.Popen(
            [*command, "--timeout", "2"], stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env
        )
    run = operator.ran(planned)
    wait_until(lambda: run.of("step.probe"), "the call was made, and its answer is missing", 30)
    [result] = [r for r in run.of("step.result") if r["step"].startswith("move")]
    assert (result["changed"], [r["progress"] for r in run.of("step.probe")]) == (None, ["unknown"])
    assert cluster.access.assignment("cargo")[0] == (1,)
    cluster.lab.cont(CONTROLLER, "controller")
    # The controller makes the change now, once, and the run sees that it is done.
    going.wait(seconds(60))
    assert run.end == "proved", out.read_text()
    assert cluster.access.assignment("cargo")[0] == (1, 3)
    assert len([r for r in run.of("step.intent") if r["step"].startswith("move")]) == 1
    assert throttles(cluster) == {}


def test_of_two_operators_on_two_hosts_who_move_the_same_partition_one_does(lab, cluster, tmp_path):
    lab.break_("healthy")
    cluster.access.create_topic("cargo", [[1], [2]], {})
    with operating(lab, tmp_path, "ann", "bob") as two:
        plans = [one.plan("move-replicas", "--json-in", moves_file(one, {("cargo", 0): [1, 3]})) for one in two]
        going = [one.begin(plan) for one, plan in zip(two, plans, strict=True)]
        said = [each.over() for each in going]
    assert 0 in {each.code for each in said}, [each.out + each.err for each in said]
    assert cluster.access.assignment("cargo")[0] == (1, 3)
    assert (throttles(cluster), cluster.moves()) == ({}, {})


def test_isr_dead_is_refused_while_a_start_would_elect_a_replica_that_lacks_records(operator, cluster):
    cluster.lab.break_("elr-struck")
    config = cluster.access.configs("topics")["ledger"]
    cluster.access.write_config("topics", "ledger", config | {"unclean.leader.election.enable": "true"})
    said = operator.not_planned("isr-dead")
    assert "Kafka may elect a replica that lacks records" in said
    cluster.access.write_config("topics", "ledger", config)


def with_properties(lab, line):
    """Starts the controller again with one more line in its properties."""
    state, path = lab.state, Path(lab.state.data, f"controller-{CONTROLLER}.properties")
    lab.nodes.shutdown(state, [CONTROLLER], "controller")
    path.write_text(f"{path.read_text()}{line}\n")
    lab.nodes.spawn("controller", CONTROLLER, [*lab.nodes._java(state, "controller", CONTROLLER), str(path)])
    wait_until(lambda: lab.quorum.active() is not None, "the controller is active again", 30)


def test_the_controllers_setting_counts_although_every_broker_and_topic_has_false(operator, cluster, request):
    broken = cluster.lab.break_("isr-gone")
    [dead] = broken.dead
    request.addfinalizer(lambda: cluster.lab.restart(CONTROLLER, role="controller"))
    with_properties(cluster.lab, f"{UNCLEAN}=true")
    said = operator.diagnose()
    finding = said.findings["KFX119"]
    assert f"{UNCLEAN} is true: once it starts, broker" in finding["summary"]
    assert "without a loss" not in finding["summary"]
    assert f"--entity-name ledger --add-config {UNCLEAN}=false" in finding["remedies"][0]["command"]
    assert not any("no record is lost" in remedy["text"] for remedy in finding["remedies"])
    refused = operator.not_planned("isr-dead")
    assert "Kafka may elect a replica that lacks records" in refused
    # What the finding advises is enough: the topic's own value outweighs the controller's.
    cluster.access.write_config("topics", "ledger", {UNCLEAN: "false"})
    assert "no record is lost" in operator.diagnose().findings["KFX119"]["remedies"][0]["text"]
    planned = operator.plan("isr-dead", params={"within": "60s"})
    going, run = waiting(operator, planned)
    cluster.lab.restart(dead)
    proved(going, run)
    state = cluster.access.state(*LEDGER)
    assert (state.leader, cluster.end(dead, LEDGER).offset) == (dead, broken.details[f"log_end_{dead}"])
