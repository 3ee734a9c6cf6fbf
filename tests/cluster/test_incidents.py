"""Faults beside the cells of the matrix: several at once, what the lab has no incident for, and no alarm."""

import json
import shlex

from kazoo.client import KazooClient

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import parse_connect
from tests.waiting import wait_until
from tests.zookeeper_view import read_view


def wait_until_gone(kfix, *codes):
    """None of the codes is found; what else is there (a broker still catching up) may stay a while."""
    return kfix.until(lambda said: not {*codes} & {*said.findings}, f"{codes} gone", "--debounce", "0", within=40)


def looked_at_while_well(kfix, lab):
    """What a site has that runs kfix from cron: a saved look, which names the groups that nobody can list later."""
    lab.break_("healthy")
    assert kfix.diagnose().code == 0
    lab.mend()


def apply(kfix, runbook, finding, tmp_path):
    """Plans, reads the approval that the plan names, and applies with exactly that."""
    plan = tmp_path / f"{runbook}.json"
    planned = kfix.on("runbook", "plan", runbook, "--finding", finding, "--output-file", plan)
    assert planned.code == 0, planned.err
    approval = f"plan:{json.loads(plan.read_text())['plan_id'][:8]}"
    return kfix.on("runbook", "apply", "--plan", plan, "--approve", approval)


def states(lab):
    """ZooKeeper's word on every partition: (leader, isr, version)."""
    _, view, _ = read_view(parse_connect(lab.zookeeper_connect), "PLAINTEXT", Deadline.after(5))
    return {tp: (s.leader, s.isr, s.version) for tp, s in view.states.items()}


def test_two_stuck_coordinators_and_a_stuck_topic_are_one_plan_and_one_approval(kfix, lab, tmp_path):
    """One cause, one plan; what the finding says to paste works as it stands, and what the plan says, too."""
    lab.break_("metadata-divergence")
    with lab.access() as access:
        states = access.states()
        diverged = next(
            tp for tp, state in states.items()
            if tp.topic == OFFSETS_TOPIC and state.leader != access.metadata(lab.broker_ids[0]).partitions[tp].leader
        )  # fmt: skip
        dies = states[diverged].leader
        for topic in (OFFSETS_TOPIC, "orders"):
            tp, state = next(
                (tp, state) for tp, state in states.items()
                if tp.topic == topic and tp != diverged and state.leader != dies and len(state.isr) > 2
            )  # fmt: skip
            access.forge_state(tp.topic, tp.partition, dies, tuple(b for b in (dies, *state.isr) if b != state.leader))
        lab.kill(dies)

        def leaderless():
            found = [tp for tp, state in access.states().items() if state.leader == -1]
            return found if len(found) == 3 else None

        stuck = wait_until(leaderless, "three partitions without a leader", 20)
    said = kfix.diagnose()
    [*commands] = {r["command"] for f in said.every for r in f["remedies"] if r["runbook"] == "coordinator-stuck"}
    [pasted] = [kfix.run(*shlex.split(command)[1:]) for command in commands]
    assert (pasted.code, pasted.err.count("--approve plan:")) == (4, 1), pasted.err
    applied = apply(kfix, "coordinator-stuck", "KFX101:all", tmp_path)
    assert (applied.code, "PROVED" in applied.out) == (0, True), applied.out + applied.err
    wait_until_gone(kfix, "KFX101", "KFX102")
    with lab.access() as access:
        assert all(access.state(tp.topic, tp.partition).leader >= 0 for tp in stuck)


def test_the_latent_divergence_is_seen_before_anyone_is_hurt_and_mended(kfix, lab, tmp_path):
    broken = lab.break_("metadata-divergence")
    said = kfix.diagnose()
    assert said.code == 20
    found = said.findings["KFX201"]
    facts = found["facts"]
    assert (OFFSETS_TOPIC, facts["partition"]) == tuple(broken.partitions[0])
    assert facts["zk_leader"] != facts["view_leader"]
    assert facts["zk_epoch"] == facts["view_epoch"] + 1

    applied = apply(kfix, "metadata-divergence", f"KFX201:{found['object']}", tmp_path)
    assert applied.code == 0, applied.out + applied.err
    kfix.until(lambda said: said.code == 0, "the cluster is healthy", "--debounce", "0", within=40)
    # The proof that counts: the broker that ZooKeeper names may die now, and the partition gets a leader.
    lab.kill(facts["zk_leader"])
    assert "KFX101" not in kfix.diagnose().findings


def test_one_dead_broker_is_one_finding(kfix, lab):
    lab.break_("healthy")
    lab.mend()
    lab.kill(lab.broker_ids[0])
    # Leaders are elected, and the others drop it from their ISRs, one after the other.
    said = kfix.until(lambda said: [head["code"] for head in said.json["findings"]] == ["KFX401"], "one finding")
    assert said.code == 20
    lab.restart(lab.broker_ids[0])


def test_a_partition_that_no_controller_has_created_is_named_and_the_start_of_its_replica_creates_it(kfix, lab):
    """What `kafka-topics --zookeeper --replica-assignment 3` writes while broker 3 is dead: no state, no leader."""
    lab.kill(3)
    client = KazooClient(lab.zookeeper_connect)
    client.start()
    try:
        content = {"version": 2, "partitions": {"0": [3]}, "adding_replicas": {}, "removing_replicas": {}}
        client.create("/brokers/topics/not-created", json.dumps(content).encode())
        said = kfix.diagnose()
        assert said.code == 21, said.out
        found = said.findings["KFX121"]
        assert found["partitions"] == ["not-created-0"]
        assert found["remedies"][0]["text"].startswith("Start broker 3: the controller creates the partition")
        assert client.exists("/brokers/topics/not-created/partitions/0/state") is None
        lab.restart(3)
        wait_until_gone(kfix, "KFX121")
        assert client.exists("/brokers/topics/not-created/partitions/0/state") is not None
        client.create("/admin/delete_topics/not-created")
        wait_until(lambda: not client.exists("/brokers/topics/not-created"), "the topic is deleted", 30)
    finally:
        client.stop()
        client.close()


def test_a_partition_that_no_broker_knows_is_named_and_another_controller_informs_the_brokers(kfix, lab, tmp_path):
    """Topic and state were created at once: the controller fails to create the state, and sends nothing."""
    lab.break_("healthy")
    client = KazooClient(lab.zookeeper_connect)
    client.start()
    try:
        epoch = int(client.get("/controller_epoch")[0])
        topic = {"version": 2, "partitions": {"0": [1, 2, 3]}, "adding_replicas": {}, "removing_replicas": {}}
        state = {"controller_epoch": epoch, "leader": 1, "version": 1, "leader_epoch": 0, "isr": [1, 2, 3]}
        made = client.transaction()
        made.create("/brokers/topics/untold", json.dumps(topic).encode())
        made.create("/brokers/topics/untold/partitions")
        made.create("/brokers/topics/untold/partitions/0")
        made.create("/brokers/topics/untold/partitions/0/state", json.dumps(state).encode())
        assert not [each for each in made.commit() if isinstance(each, Exception)]
        said = kfix.diagnose()
        assert said.code == 21, said.out
        found = said.findings["KFX121"]
        assert found["partitions"] == ["untold-0"]
        assert found["severity"] == "critical"
        plan = tmp_path / "reelect.json"
        assert kfix.on("runbook", "plan", "controller-reelect", "--output-file", plan).code == 0
        approval = f"step:{json.loads(plan.read_text())['plan_id'][:8]}"
        done = kfix.on("runbook", "apply", "--plan", plan, "--approve", approval)
        assert done.code == 0, done.err
        wait_until_gone(kfix, "KFX121")
    finally:
        client.create("/admin/delete_topics/untold")
        wait_until(lambda: not client.exists("/brokers/topics/untold"), "the topic is deleted", 30)
        client.stop()
        client.close()


def test_an_ordinary_controller_failover_gives_no_alarm(kfix, lab):
    with lab.access() as access:
        access.drop_controller()
    said = kfix.on("diagnose", "--json")
    assert said.code == 0, said.out
