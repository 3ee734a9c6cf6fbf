"""The runbook engine on real brokers: a stale plan, and each rung by itself."""

import json
import os
import signal
import time

import pytest
import yaml

from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.target import make_target
from kfix.heal.live.clusters import open_cluster
from kfix.heal.runbook.catalogue import shipped_dir
from tests.cluster.test_incidents import apply, states, wait_until_gone


def planned(kfix, tmp_path, name="coordinator-stuck", *more):
    path = tmp_path / f"{name}.json"
    said = kfix.on("runbook", "plan", name, "--output-file", path, *more)
    assert said.code == 0, said.err
    return path, json.loads(path.read_text())


def test_a_plan_whose_facts_changed_is_refused_by_name(kfix, lab, tmp_path):
    broken = lab.break_("coordinator-stuck")
    path, plan = planned(kfix, tmp_path)
    lab.restart(*broken.dead)
    before = states(lab)
    said = kfix.on("runbook", "apply", "--plan", path, "--approve", f"plan:{plan['plan_id'][:8]}")
    assert said.code == 3
    assert "live" in said.err
    assert "was" in said.err
    partition = TopicPartition(OFFSETS_TOPIC, broken.partitions[0][1])
    assert states(lab)[partition] == before[partition]


def test_a_live_preferred_replica_is_elected_by_the_gentlest_rung(kfix, lab, tmp_path):
    """The usual A1 leaves the preferred replica out of the ISR; here the survivor stands first in the assignment."""
    lab.break_("healthy")
    lab.mend()
    partition = partition_of_group("payments", 5)
    with lab.access() as access:
        state = access.state(OFFSETS_TOPIC, partition)
        controller = access.controller()
        written = next(b for b in lab.broker_ids if b not in {state.leader, controller})
        survivor = next(b for b in lab.broker_ids if b not in {state.leader, written})
        access.reassign({(OFFSETS_TOPIC, partition): (survivor, state.leader, written)})
    lab.break_("coordinator-stuck", partition=partition)
    path, plan = planned(kfix, tmp_path)
    assert plan["steps"][0]["action"] == "leader.elect_preferred"
    said = kfix.on("runbook", "apply", "--plan", path, "--approve", f"plan:{plan['plan_id'][:8]}")
    assert said.code == 0, said.err
    assert "by elect-preferred" in said.out


def rung(tmp_path, only):
    """A site's own runbook: the shipped one with a single step, to try that rung alone."""
    text = (shipped_dir() / "coordinator-stuck.yaml").read_text()
    book = yaml.safe_load(text.replace("\non:", '\n"on":'))
    book["metadata"]["id"] = f"only-{only}"
    book["steps"] = [s for s in book["steps"] if s["id"] == only]
    book["tests"] = [
        {
            "name": "heals",
            "cluster": "coordinator-stuck",
            "finding": {"code": "KFX101"},
            "expect": {"steps": [only], "healed": True},
        }
    ]
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / f"only-{only}.yaml").write_text(yaml.safe_dump(book, sort_keys=False))
    return folder


def test_in_sync_replicas_that_are_shut_down_lose_no_leadership_to_one_that_is_not_in_sync(kfix, lab, tmp_path):
    """A broker that hands over its leaderships is registered and answers, but Kafka's unclean API passes over it."""
    broken = lab.break_("coordinator-stuck")
    number = broken.partitions[0][1]
    partition, [dead] = TopicPartition(OFFSETS_TOPIC, number), broken.dead
    [survivor] = states(lab)[partition][1]
    with lab.access() as access:
        # It is the only one in sync of these, so it tries again and again to hand them over.
        access.create_topic("held", [[survivor, dead]], {})
    [pid] = [p.pid for p in lab.status().processes if p.role == "broker" and p.id == survivor]
    os.kill(pid, signal.SIGTERM)
    time.sleep(0.7)
    with lab.access() as access:
        assert survivor in access.live_ids()
    said = kfix.on("runbook", "plan", "only-elect-isr", "--runbooks", rung(tmp_path, "elect-isr"), "--debounce", "1")
    assert said.code == 3, said.out + said.err
    assert "a replica outside the ISR is alive" in said.out + said.err
    leader, isr, _ = states(lab)[partition]
    assert (leader, isr) == (-1, (survivor,))


@pytest.mark.parametrize("only", ["reelect-controller"])
def test_every_further_rung_heals_by_itself_and_loses_nothing(kfix, lab, tmp_path, only):
    broken = lab.break_("coordinator-stuck")
    folder = rung(tmp_path, only)
    assert kfix.run("runbook", "validate", "--runbooks", folder).code == 0
    path, plan = planned(kfix, tmp_path, f"only-{only}", "--runbooks", str(folder))
    short = plan["plan_id"][:8]
    approved = ("--approve", f"step:{short}", "--approve", f"plan:{short}")
    said = kfix.on("runbook", "apply", "--plan", path, *approved, "--runbooks", folder)
    assert said.code == 0, said.out + said.err
    assert f"by {only}" in said.out
    partition = TopicPartition(OFFSETS_TOPIC, broken.partitions[0][1])
    leader, isr, _ = states(lab)[partition]
    assert leader in isr


def test_asking_for_a_group_does_not_create_the_offsets_topic(tmp_path):
    """FindCoordinator would (KafkaApis.scala:1395): a fresh cluster must still have no topic after the question."""
    from kfix.lab import Lab, LabSpec
    from tests.cluster.conftest import Kfix

    lab = Lab.up(LabSpec(name="fresh", ids=(7,)))
    try:
        kfix = Kfix(lab, tmp_path)
        assert kfix.on("diagnose", "--group", "payments").code in {0, 22}
        with lab.access() as access:
            assert access.topics() == ()
        with open_cluster(make_target(lab.bootstrap_servers, None)) as cluster:
            assert cluster.reader.partition_count(OFFSETS_TOPIC) is None
    finally:
        lab.down()


def test_the_demo_runs_without_a_terminal(kfix):
    said = kfix.run("lab", "demo", "--name", "story", timeout=180)
    assert said.code == 0, said.out + said.err
    for words in ("received    0", "CRITICAL KFX101", "--approve plan:", "PROVED HEALED", "lost 0", "has been stopped"):
        assert words in said.out, words


def test_one_diverged_topic_partition_falls_and_is_healed_like_the_founding_one(kfix, lab, tmp_path):
    """KFX102: the same fault on a topic of the users; proved by leader and views, since no coordinator is behind it."""
    lab.break_("healthy")
    topic = next(tp.topic for tp in states(lab) if tp.topic != OFFSETS_TOPIC)
    with lab.access() as access:
        state = access.state(topic, 0)
        controller = access.controller()
        written = next(b for b in state.isr if b not in {state.leader, controller})
        survivors = tuple(b for b in state.isr if b not in {state.leader, written})
        access.forge_state(topic, 0, written, (written, *survivors))
    lab.kill(written)
    said = kfix.diagnose()
    assert said.findings["KFX102"]["object"] == f"{topic}-0"
    assert apply(kfix, "coordinator-stuck", f"KFX102:{topic}-0", tmp_path).code == 0
    wait_until_gone(kfix, "KFX102")
