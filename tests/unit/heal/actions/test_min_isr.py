"""`config.set` of min.insync.replicas: only what every partition can give, and nothing that somebody set since."""

from __future__ import annotations

import pytest

from kfix.core.args import Args, ArgValue
from kfix.core.errors import RefusedError
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.model.plan import Gate
from tests.unit.heal.actions.acting import TP, carry_out, dead_isr, four_brokers, freeze, guards_pass, undo_of

MIN_ISR, TOPIC = "min.insync.replicas", ResourceKind.TOPIC


def min_isr(cluster: MemoryCluster, value: str, /, **more: ArgValue) -> Args:
    return freeze("config.set", cluster, kind="topic", name="orders", key=MIN_ISR, value=value, **more)


def test_no_more_is_demanded_than_every_partition_can_give() -> None:
    cluster = four_brokers()
    with pytest.raises(RefusedError, match="4 is more than the 3 replicas of a partition") as refused:
        min_isr(cluster, "4")
    assert "raise-topic-rf" in refused.value.hint
    with pytest.raises(RefusedError, match="3 of 3 replicas leaves fewer than 1 to spare"):
        min_isr(cluster, "3", spare=1)
    assert min_isr(cluster, "3").text("effective") == "1"
    assert min_isr(cluster, "4", replicas=5, spare=1).number("replicas") == 5
    with pytest.raises(RefusedError, match="5 of 5 replicas"):
        min_isr(cluster, "5", replicas=5, spare=1)


def test_to_demand_less_asks_no_replicas() -> None:
    cluster = dead_isr()
    cluster.alter_configs(TOPIC, "orders", {MIN_ISR: "5"})
    assert guards_pass("config.set", min_isr(cluster, "4"), cluster)


def test_producers_are_not_stopped_by_a_raise_nor_by_taking_a_lowering_back() -> None:
    cluster = four_brokers()
    args = min_isr(cluster, "2")
    cluster.control.lead(TP, 1, (1,))
    assert not guards_pass("config.set", args, cluster)
    cluster.alter_configs(TOPIC, "orders", {MIN_ISR: "2"})
    lowered = min_isr(cluster, "1")
    carry_out("config.set", lowered, cluster)
    undo = undo_of("config.set", lowered)[1]
    assert not guards_pass(undo.action, undo.args, cluster)
    cluster.advance(5)
    assert guards_pass(undo.action, undo.args, cluster)


def test_what_another_operator_set_since_is_not_rolled_back() -> None:
    cluster = four_brokers()
    cluster.alter_configs(TOPIC, "orders", {MIN_ISR: "2"})
    args = min_isr(cluster, "1")
    carry_out("config.set", args, cluster)
    undo = undo_of("config.set", args)[1]
    cluster.alter_configs(TOPIC, "orders", {MIN_ISR: "3"})
    assert not guards_pass(undo.action, undo.args, cluster)


def test_a_way_back_that_lowers_is_typed_and_one_that_raises_is_not() -> None:
    cluster = four_brokers()
    raised = undo_of("config.set", min_isr(cluster, "2", expect="1"))[1]
    assert ACTIONS["config.set"].gate_for(raised.args) is Gate.TYPED
    cluster.alter_configs(TOPIC, "orders", {MIN_ISR: "2"})
    lowered = undo_of("config.set", min_isr(cluster, "1"))[1]
    assert ACTIONS["config.set"].gate_for(lowered.args) is Gate.STEP
