"""Groups of the in-memory cluster rebalance as those of Kafka 2.7.1 do (docs/facts/consumer-groups.md)."""

from __future__ import annotations

from kfix.core.snapshot.group_reading import LastGeneration
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.groups import MemoryGroup
from kfix.heal.memory.incidents.groups import member

A, B, STATIC = member("a-1"), member("b-1"), member("s-1", "worker-7")


def group(*members: str) -> MemoryGroup:
    joined = MemoryGroup("g")
    joined.settle(*(member(name) for name in members))
    return joined


def test_a_rebalance_lasts_until_every_known_member_has_joined_again() -> None:
    joined = group("a-1", "c-1")
    joined.rebalance(B, again=("a-1",))
    assert (joined.state, joined.logged()) == ("PreparingRebalance", LastGeneration(1, frozenset({"a-1", "c-1"})))
    joined.join_again("c-1")
    assert (joined.state, joined.logged().number) == ("Stable", 2)


def test_it_ends_as_well_when_the_member_that_held_it_is_removed() -> None:
    joined = group("a-1")
    joined.rebalance(B)
    assert joined.leave("a-1", "").accepted
    assert (joined.state, joined.logged()) == ("Stable", LastGeneration(2, frozenset({"b-1"})))
    assert joined.leave("b-1", "").accepted
    assert (joined.state, joined.logged()) == ("Empty", LastGeneration())


def test_a_member_that_is_not_there_is_unknown_and_a_replaced_static_one_is_fenced() -> None:
    joined = MemoryGroup("g")
    joined.settle(A, STATIC)
    assert joined.leave("gone-1", "").name == "UNKNOWN_MEMBER_ID"
    assert joined.leave("gone-1", "worker-8").name == "UNKNOWN_MEMBER_ID"
    assert joined.leave("s-0", "worker-7").name == "FENCED_INSTANCE_ID"
    assert joined.leave("s-1", "worker-7").accepted


def test_a_group_with_members_has_their_state_and_refuses_a_commit_from_outside() -> None:
    cluster = MemoryCluster.healthy()
    cluster.joined["g"] = group("a-1")
    assert cluster.group("g", ()).state == "Stable"
    tp = TopicPartition("orders", 0)
    assert cluster.commit_offsets("g", {tp: StoredOffset(1)}).name == "UNKNOWN_MEMBER_ID"
    assert cluster.evict_member("g", "a-1", "").accepted
    assert cluster.commit_offsets("g", {tp: StoredOffset(1)}).accepted
    assert cluster.evict_member("nosuch", "a-1", "").name == "UNKNOWN_MEMBER_ID"


def test_without_a_coordinator_nothing_is_removed() -> None:
    cluster = MemoryCluster.healthy()
    cluster.joined["g"] = group("a-1")
    cluster.kill(*cluster.brokers)
    result = cluster.evict_member("g", "a-1", "")
    assert (result.name, result.accepted, result.unknown) == ("NOT_SENT", False, False)
