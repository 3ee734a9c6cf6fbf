"""The KRaft cluster in memory follows what real brokers did (docs/facts/kraft.md)."""

from __future__ import annotations

import pytest

from kfix.core.errors import UnreachableError
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import Mode, TopicPartition
from kfix.heal.memory.configs import MIN_ISR, UNCLEAN
from kfix.heal.memory.incidents.partitions import ORDERS, eligible_waits
from kfix.heal.memory.kraft import MemoryKraftCluster


def waiting() -> MemoryKraftCluster:
    """Broker 3 is alive with the fewest records; 1, the last leader, and 2 were killed and may lead."""
    cluster = eligible_waits().cluster
    assert isinstance(cluster, MemoryKraftCluster)
    return cluster


def leader(cluster: MemoryKraftCluster, tp: TopicPartition = ORDERS) -> int:
    state = cluster.recorded(tp).state
    assert state is not None
    return state.leader


def test_an_empty_isr_leaves_the_eligible_and_the_last_known_leader() -> None:
    reading = waiting().recorded(ORDERS)
    assert (reading.isr, reading.live_isr, reading.leaderless) == ((), (), True)
    assert reading.eligible == EligibleLeaders((2, 1), (1,))


def test_one_that_was_killed_is_no_longer_eligible_and_the_last_leader_leads_once_none_is() -> None:
    cluster = waiting()
    cluster.revive(1)
    assert (leader(cluster), cluster.eligible(ORDERS)) == (-1, EligibleLeaders((2,), (1,)))
    cluster.revive(2)
    assert leader(cluster) == 1
    assert cluster.log_ends(ORDERS, (1,))[1].end == 140


def test_one_that_was_shut_down_is_elected_when_it_starts() -> None:
    cluster = waiting()
    cluster.kraft.killed.clear()
    cluster.revive(2)
    assert leader(cluster) == 2


def test_an_unclean_election_passes_over_the_last_leader_unless_it_is_first() -> None:
    first, second = waiting(), waiting()
    for cluster in (first, second):
        cluster.revive(1)
    assert first.elect(ORDERS, unclean=True).accepted
    assert leader(first) == 3
    second.reassign(ORDERS, (1, 3, 2))
    assert leader(second) == -1
    assert second.elect(ORDERS, unclean=True).accepted
    assert leader(second) == 1


def test_neither_a_preferred_election_nor_the_same_replicas_elect() -> None:
    cluster = waiting()
    cluster.revive(1)
    assert cluster.elect(ORDERS, unclean=False).code == 80
    assert cluster.reassign(ORDERS, (3, 2, 1)).accepted
    assert leader(cluster) == -1


@pytest.mark.parametrize("value", ["1", "2", None])
def test_any_change_of_min_isr_makes_it_forget_who_may_lead(value: str | None) -> None:
    cluster = waiting()
    cluster.alter_configs(ResourceKind.TOPIC, "orders", {MIN_ISR: value})
    for broker in (1, 2):
        cluster.revive(broker)
    assert (leader(cluster), cluster.eligible(ORDERS)) == (-1, EligibleLeaders((), ()))
    assert cluster.elect(ORDERS, unclean=True).accepted


def test_a_cancel_without_a_live_original_is_refused_unless_unclean_elections_are_allowed() -> None:
    cluster = MemoryKraftCluster.healthy(topics={"other": 0})
    tp = TopicPartition("cargo", 0)
    cluster.add_partition(tp, (1,))
    cluster.copy_seconds = 3600.0
    cluster.reassign(tp, (3, 2))
    cluster.kill(1)
    assert cluster.reassign(tp, None).code == 39
    cluster.alter_configs(ResourceKind.TOPIC, "cargo", {UNCLEAN: "true"})
    assert cluster.reassign(tp, None).accepted


def test_a_quorum_that_does_not_answer_reads_and_changes_nothing() -> None:
    cluster = MemoryKraftCluster.healthy(topics={"orders": 3})
    cluster.faults.unreadable["quorum"] = "no active controller answers"
    with pytest.raises(UnreachableError):
        cluster.registered_brokers()
    assert cluster.elect(TopicPartition("orders", 0), unclean=True).name == "NOT_SENT"
    assert cluster.faults.calls == []
    assert not cluster.recorded(TopicPartition("orders", 0)).registered


def test_it_is_on_kraft_and_has_no_controller_among_its_brokers() -> None:
    cluster = MemoryKraftCluster.healthy()
    assert (cluster.identity().mode, cluster.identity().zookeeper) == (Mode.KRAFT, "")
    assert cluster.controller().broker not in cluster.brokers
    assert cluster.reelect_controller(epoch_version=1).name == "NOT_SENT"
    snapshot = cluster.snapshot()
    assert snapshot.zookeeper is None
    assert snapshot.quorum is not None
    assert snapshot.quorum.read
