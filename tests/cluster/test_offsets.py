"""Committed offsets saved from the log of real brokers, from a replica, and from a disk, and committed again."""

import json
import shlex

from confluent_kafka import Consumer

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.kafka import group_messages
from kfix.core.snapshot.snapshot import TopicPartition
from tests.cluster.test_inspect_log_dir import disk_of
from tests.waiting import wait_until


def positions(cluster, group, broker):
    """{partition: committed offset} of orders, as OffsetFetch returns them."""
    tps = tuple(TopicPartition("orders", number) for number in range(3))
    error, found = cluster.ask(broker, group_messages.stable_offset_fetch(group, tps))
    assert error == 0
    return {tp.partition: each.offset for tp, each in found.items()}


def saved_offsets(path):
    [group] = json.loads(path.read_text())["groups"]
    return {each["partition"]: each["offset"] for each in group["offsets"]}


def as_printed(operator, finding, words, path):
    """The command of the finding that begins with these words, with its file in the test's folder."""
    [command] = [r["command"] for r in finding["remedies"] if r["command"].startswith(words)]
    return [str(path) if each.startswith("offsets-") else each for each in shlex.split(command)[1:]]


def test_offsets_that_a_coordinator_dropped_are_saved_committed_again_and_rolled_back(operator, cluster):
    broken = cluster.lab.break_("offsets-not-loaded")
    group, leader = broken.group, broken.details["leader"]
    path = operator.folder / "offsets.json"
    finding = operator.diagnose().findings["KFX109"]
    said = operator.run(*as_printed(operator, finding, "kfix offsets save", path))
    assert said.code == 0, said.err
    assert "everything that it holds" in said.out
    old = saved_offsets(path)
    assert len(old) == 3
    assert positions(cluster, group, leader) == dict.fromkeys(old, -1)

    # Without a terminal nobody approves it: nothing is changed.
    said = operator.run(*as_printed(operator, finding, "kfix offsets restore", path))
    assert said.code == 4, said.out + said.err
    assert positions(cluster, group, leader) == dict.fromkeys(old, -1)

    planned = operator.plan("restore-offsets", "--offsets", path)
    operator.healed(planned)
    assert positions(cluster, group, leader) == old
    assert "KFX109" not in operator.diagnose().findings
    operator.take_back(operator.ran(planned))
    assert positions(cluster, group, leader) == dict.fromkeys(old, -1)

    # A group with members is left out, and Kafka itself refuses a commit for it.
    with_member = Consumer(
        {"bootstrap.servers": cluster.lab.bootstrap_servers, "group.id": group, "enable.auto.commit": False}
    )
    try:
        with_member.subscribe(["orders"])
        wait_until(lambda: with_member.poll(0.2) is None and with_member.assignment(), "the member is assigned", 20)
        said, plan = operator.planning("restore-offsets", "--offsets", path)
        assert (said.code, plan.exists()) == (0, False)
        assert "3 saved offsets left out: the group has members" in " ".join(said.out.split())
    finally:
        with_member.close()
    assert positions(cluster, group, leader) == dict.fromkeys(old, -1)


def test_offsets_of_a_leaderless_partition_come_from_a_replica_and_after_a_crash_only_from_a_disk(operator, cluster):
    broken = cluster.lab.break_("coordinator-stuck")
    [(_, number)] = broken.partitions
    [survivor] = cluster.access.state(OFFSETS_TOPIC, number).isr
    served = operator.folder / "replica.json"
    said = operator.on("offsets", "save", "--partition", number, "--output-file", served)
    assert said.code == 0, said.out + said.err
    assert f"read from replica broker {survivor}" in said.out
    assert saved_offsets(served)

    # After a crash a replica outside the ISR has no high watermark, if the broker had not written its checkpoint.
    behind = next(b for b in cluster.lab.broker_ids if b != survivor and b not in broken.dead)
    cluster.lab.kill(behind)
    cluster.lab.kill(survivor)
    (disk_of(cluster.lab, behind) / "replication-offset-checkpoint").unlink()
    cluster.lab.restart(behind)
    path = operator.folder / "disk.json"
    said = operator.on("offsets", "save", "--partition", number, "--output-file", path)
    assert (said.code, path.exists()) == (22, False)
    assert f"broker {behind}: serves no records after a crash: its log ends at offset" in said.err
    assert "--log-dir" in said.err
    disk = ("--partition", number, "--log-dir", disk_of(cluster.lab, survivor))
    said = operator.run("offsets", "save", *disk, "--output-file", path)
    assert said.code == 0, said.out + said.err
    assert saved_offsets(path) == saved_offsets(served)
