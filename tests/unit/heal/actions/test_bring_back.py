"""Which broker to start for a partition, and which one would not help."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kfix.core.args import Args
from kfix.core.snapshot.memory import AtRisk, Memory
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.actions.base import ActionStatus, NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.kraft import MemoryKraftCluster
from kfix.heal.probes.facts import FactReader

ACTION = ACTIONS["manual.bring_back"]


def frozen(incident: str) -> Args:
    made = INCIDENTS[incident]()
    (tp,) = made.finding.partitions
    return ACTION.freeze(Args({"partition": str(tp)}), FactReader(made.cluster))


def test_where_the_isr_is_dead_its_member_is_named_and_the_others_are_warned_of() -> None:
    args = frozen("isr-gone")
    said = ACTION.preview(args).what
    assert "start broker 1 with its old disk" in said
    assert "brokers 2 and 3 are alive, but out of sync" in said
    assert [c.check for c in ACTION.proves(args)] == ["partition_has_leader"]


def test_where_no_replica_is_left_the_last_of_the_isr_is_named() -> None:
    assert "start broker 4" in ACTION.preview(frozen("no-live-replica")).what


def test_where_a_leader_lives_the_missing_replicas_are_named() -> None:
    args = frozen("under-min-isr")
    said = "orders-0: start broker 2 with its old disk; start broker 3 with its old disk"
    assert ACTION.preview(args).what == said
    assert [c.check for c in ACTION.proves(args)] == ["isr_full"]


def test_where_every_replica_is_in_sync_no_broker_is_to_be_brought_back() -> None:
    cluster = INCIDENTS["healthy"]().cluster
    with pytest.raises(NotApplicable, match="every replica of orders-0 is in sync"):
        ACTION.freeze(Args({"partition": "orders-0"}), FactReader(cluster))


def test_it_changes_nothing_and_trusts_no_claim() -> None:
    cluster = INCIDENTS["isr-gone"]().cluster
    args = frozen("isr-gone")
    assert not ACTION.changes
    assert ACTION.probe(args, {}, cluster) is ActionStatus.UNKNOWN
    with pytest.raises(TypeError):
        ACTION.apply(args, cluster)


def test_on_kraft_a_broker_that_runs_is_not_started_a_second_time() -> None:
    made = INCIDENTS["eligible-waits"]()
    cluster, (tp,) = made.cluster, made.finding.partitions
    assert isinstance(cluster, MemoryKraftCluster)
    args = Args({"partition": str(tp)})
    dead = ACTION.freeze(args, FactReader(cluster)).brokers("dead")
    assert len(dead) == 2
    assert "runs" not in ACTION.preview(ACTION.freeze(args, FactReader(cluster))).what
    cluster.cut = {dead[1]}
    one = ACTION.preview(ACTION.freeze(args, FactReader(cluster))).what
    assert one.startswith(f"start broker {dead[0]} with its old disk")
    assert one.endswith(f"broker {dead[1]} runs, but is fenced: find out why (KFX814), and start no second process")
    cluster.cut = {*dead}
    both = ACTION.preview(ACTION.freeze(args, FactReader(cluster))).what
    assert both.startswith(f"{tp}: brokers {dead[0]}, {dead[1]} run, but are fenced: find out why (KFX814)")
    assert "If they hang, end them, and then start broker" in both


def with_snapshot(incident: str, **changes: Any) -> str:
    """What a person is told if the snapshot of the plan shows this, too."""
    made = INCIDENTS[incident]()
    (tp,) = made.finding.partitions
    snapshot = replace(made.cluster.snapshot(), **changes)
    return ACTION.preview(ACTION.freeze(Args({"partition": str(tp)}), FactReader(made.cluster, snapshot))).what


def test_a_broker_that_is_known_to_be_frozen_is_not_simply_started() -> None:
    dead = with_snapshot("under-min-isr", silent={2: "timed out after 3 s"})
    assert dead.endswith("Broker 2 does not answer and may be frozen: end its process first")
    in_isr = with_snapshot("isr-gone", silent={1: "timed out after 3 s"})
    assert in_isr.endswith("Broker 1 does not answer and may be frozen: end its process first")


def test_a_disk_that_alone_has_records_is_copied_before_its_broker_starts() -> None:
    made = INCIDENTS["under-min-isr"]()
    state = made.cluster.records.states[TopicPartition("orders", 0)]
    was = AtRisk(0.0, -1, state.leader_epoch - 1, -1, (2,))
    said = with_snapshot("under-min-isr", memory=Memory(at_risk={TopicPartition("orders", 0): was}))
    assert said.endswith("Copy the disk of broker 2 first: no other broker has its records (KFX809)")


def test_partitions_that_lack_the_same_brokers_are_one_step() -> None:
    one = frozen("under-min-isr")
    every = one
    for number in range(1, 11):
        joined = ACTION.joined(every, one.with_(partition=f"orders-{number}"))
        assert joined is not None
        every = joined
    assert ACTION.preview(every).what.startswith("orders-0, orders-1, orders-2 and 8 more: start broker 2 ")
    assert [c.args.text("partition") for c in ACTION.proves(every)] == [f"orders-{n}" for n in range(11)]
    assert ACTION.joined(one, one.with_(partition="orders-1", wanted=(3,))) is None


def test_the_condition_of_an_automatic_election_is_that_of_the_finding() -> None:
    args = frozen("eligible-waits").with_(wanted=(12,), dead=(12,), eligible=(11, 12), running=(), hung=())
    said = ACTION.preview(args).what
    assert "if broker 12 was killed, it is no longer eligible once it is back: then broker 11" in said
