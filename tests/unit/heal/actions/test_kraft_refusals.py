"""What makes a sick KRaft cluster worse is refused when it is planned, and before the change if it came to be since."""

from __future__ import annotations

import pytest

from kfix.core.args import ABSENT, Args
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import Assignment
from kfix.heal.actions.base import NotApplicable
from kfix.heal.memory.configs import MIN_ISR, UNCLEAN
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.incidents.partitions import ORDERS
from kfix.heal.memory.kraft import MemoryKraftCluster
from kfix.heal.model.plan import CheckCall
from kfix.heal.probes.registry import ask
from tests.unit.heal.actions.acting import ON_TP, TP, carry_out, freeze, guards_pass, on_tp, undo_of

ON_ORDERS = {"partition": str(ORDERS)}
TOPIC = ResourceKind.TOPIC
FORGETS = "min.insync.replicas is set, even to the same value"


def no_elr() -> MemoryKraftCluster:
    """As Kafka 3.9: orders-0 on brokers 1 and 2, in a topic without eligible leader replicas."""
    cluster = MemoryKraftCluster.healthy(topics={"other": 2})
    cluster.kraft.keeps_eligible = False
    cluster.add_partition(TP, (1, 2))
    return cluster


def incident(name: str) -> MemoryKraftCluster:
    cluster = INCIDENTS[name]().cluster
    assert isinstance(cluster, MemoryKraftCluster)
    return cluster


def waits() -> MemoryKraftCluster:
    """orders-0 has no leader; brokers 1 and 2, which are dead, may lead it without data loss."""
    cluster = MemoryKraftCluster.healthy(topics={"other": 2})
    cluster.settings.properties["min.insync.replicas"] = "2"
    cluster.add_partition(TP, (2, 1))
    return dead(cluster)


def min_isr(cluster: MemoryKraftCluster, value: str = "1", kind: str = "topic", name: str = "orders") -> Args:
    return freeze("config.set", cluster, kind=kind, name=name, key=MIN_ISR, value=value)


# --- min.insync.replicas of a topic with a leaderless partition


@pytest.mark.parametrize("value", ["1", "2", ABSENT])
def test_min_isr_is_not_set_while_a_partition_has_eligible_replicas(value: str) -> None:
    cluster = waits()
    if value == ABSENT:
        cluster.records.topic_configs["orders"] = {MIN_ISR: "3"}
    with pytest.raises(RefusedError, match=FORGETS):
        min_isr(cluster, value)


@pytest.mark.parametrize("value", ["1", "2"])
def test_min_isr_is_not_set_while_a_partition_has_no_leader_and_nothing_is_known_to_be_eligible(value: str) -> None:
    forgotten = waits()
    forgotten.kraft.forget(TP)
    for cluster in (forgotten, dead(no_elr())):
        with pytest.raises(RefusedError, match="has no leader"):
            min_isr(cluster, value)


def dead(cluster: MemoryKraftCluster) -> MemoryKraftCluster:
    cluster.kill(2)
    cluster.kill(1)
    return cluster


def test_min_isr_is_not_set_where_the_leader_died_after_the_plan() -> None:
    for cluster in (no_elr(), one_copy()):
        args = min_isr(cluster, "2") if cluster.kraft.keeps_eligible is False else min_isr(cluster, "1")
        assert guards_pass("config.set", args, cluster)
        dead(cluster)
        assert not guards_pass("config.set", args, cluster)


def one_copy() -> MemoryKraftCluster:
    cluster = MemoryKraftCluster.healthy(topics={"other": 2})
    cluster.add_partition(TP, (1,))
    return cluster


def test_min_isr_is_not_set_back_while_a_partition_has_no_leader() -> None:
    cluster = no_elr()
    lowered = min_isr(cluster, "1")
    carry_out("config.set", lowered, cluster)
    undo = undo_of("config.set", lowered)[1]
    assert guards_pass(undo.action, undo.args, cluster)
    dead(cluster)
    assert not guards_pass(undo.action, undo.args, cluster)


# --- unclean elections, allowed while a partition waits for the broker that has every record


def unclean(cluster: MemoryKraftCluster, value: str, kind: str = "topic", name: str = "orders") -> Args:
    return freeze("config.set", cluster, kind=kind, name=name, key=UNCLEAN, value=value)


def test_a_topic_is_not_allowed_to_elect_uncleanly_while_one_of_its_partitions_has_no_leader() -> None:
    with pytest.raises(
        RefusedError, match="has no leader: where unclean elections are allowed, Kafka elects the first"
    ):
        unclean(waits(), "true")
    led = no_elr()
    args = unclean(led, "true")
    assert guards_pass("config.set", args, led)
    dead(led)
    assert not guards_pass("config.set", args, led)
    # To forbid them is never refused.
    led.records.topic_configs["orders"] = {UNCLEAN: "true"}
    assert guards_pass("config.set", unclean(led, "false"), led)


@pytest.mark.parametrize("before", [{}, {UNCLEAN: "true"}])
def test_unclean_elections_are_not_allowed_again_by_a_rollback_while_a_partition_has_no_leader(
    before: dict[str, str],
) -> None:
    cluster = no_elr()
    cluster.settings.controllers = {UNCLEAN: "true"}
    cluster.records.topic_configs["orders"] = dict(before)
    forbidden = unclean(cluster, "false")
    carry_out("config.set", forbidden, cluster)
    undo = undo_of("config.set", forbidden)[1]
    assert undo.args.text("value") == before.get(UNCLEAN, ABSENT)
    assert guards_pass(undo.action, undo.args, cluster)
    dead(cluster)
    assert not guards_pass(undo.action, undo.args, cluster)
    with pytest.raises(RefusedError, match="has no leader"):
        unclean(cluster, undo.args.text("value"))


def test_a_broker_may_be_the_controller_and_its_setting_concern_every_topic() -> None:
    cluster = no_elr()
    args = unclean(cluster, "true", kind="broker", name="3")
    assert guards_pass("config.set", args, cluster)
    dead(cluster)
    assert not guards_pass("config.set", args, cluster)


def test_with_zookeeper_a_person_may_allow_them_on_a_leaderless_topic() -> None:
    cluster = INCIDENTS["isr-gone"]().cluster
    args = freeze("config.set", cluster, kind="topic", name="orders", key=UNCLEAN, value="true")
    assert guards_pass("config.set", args, cluster)


def test_min_isr_of_a_broker_concerns_every_topic() -> None:
    cluster = waits()
    with pytest.raises(RefusedError, match="may lead 3 partitions without data loss"):
        min_isr(cluster, "1", kind="broker", name="3")
    well = no_elr()
    args = min_isr(well, "1", kind="broker", name="3")
    assert guards_pass("config.set", args, well)
    dead(well)
    assert not guards_pass("config.set", args, well)


def test_with_zookeeper_min_isr_of_a_leaderless_topic_may_be_set() -> None:
    cluster = INCIDENTS["isr-gone"]().cluster
    args = freeze("config.set", cluster, kind="topic", name="orders", key=MIN_ISR, value="1")
    assert guards_pass("config.set", args, cluster)


# --- a cancel whose original replicas are dead, with unclean elections allowed


def test_a_cancel_that_would_delete_the_only_copy_is_not_sent() -> None:
    for name in ("stuck-reassignment-unsafe-kraft", "move-never-ends-unsafe"):
        cluster = incident(name)
        cluster.changer.alter_configs(TOPIC, "orders", {UNCLEAN: "true"})
        with pytest.raises(NotApplicable, match="would leave it without a leader"):
            on_tp("reassign.cancel", cluster)
    later = incident("move-never-ends")
    args = on_tp("reassign.cancel", later)
    assert guards_pass("reassign.cancel", args, later)
    later.kill(2)
    later.changer.alter_configs(TOPIC, "orders", {UNCLEAN: "true"})
    assert not guards_pass("reassign.cancel", args, later)


# --- an unclean election that a quorum without an answer would carry out later


def test_no_unclean_election_is_sent_to_a_quorum_that_does_not_answer() -> None:
    with pytest.raises(UnreachableError, match="quorum"):
        freeze("leader.elect_unclean", incident("eligible-waits-quorum-lost"), **ON_ORDERS, max_loss=-1)
    later = incident("eligible-forgotten")
    args = freeze("leader.elect_unclean", later, **ON_ORDERS, max_loss=-1)
    assert guards_pass("leader.elect_unclean", args, later)
    later.faults.unreadable["quorum"] = "no active controller answers"
    assert not guards_pass("leader.elect_unclean", args, later)
    assert later.changer.elect(ORDERS, unclean=True).name == "NOT_SENT"


# --- starting the dead leader while unclean elections are allowed


def test_no_broker_is_named_to_start_while_its_start_elects_another_replica() -> None:
    with pytest.raises(RefusedError, match="Kafka may elect a replica that lacks records"):
        freeze("manual.bring_back", incident("eligible-waits-unclean-allowed"), **ON_ORDERS)


def test_the_broker_of_the_only_replica_is_named_since_no_other_can_be_elected() -> None:
    cluster = incident("eligible-waits-unclean-allowed")
    cluster.records.assignments[ORDERS] = Assignment((1,))
    cluster.kraft.elr, cluster.kraft.last_known = {ORDERS: (1,)}, {ORDERS: (1,)}
    args = freeze("manual.bring_back", cluster, **ON_ORDERS)
    assert args.brokers("wanted") == (1,)
    assert guards_pass("manual.bring_back", args, cluster)


def test_it_is_not_named_either_where_unclean_elections_were_allowed_after_the_plan() -> None:
    cluster = incident("eligible-waits")
    args = freeze("manual.bring_back", cluster, **ON_ORDERS)
    assert guards_pass("manual.bring_back", args, cluster)
    cluster.changer.alter_configs(TOPIC, "orders", {UNCLEAN: "true"})
    assert not guards_pass("manual.bring_back", args, cluster)


def test_a_led_partition_has_no_election_when_a_replica_starts() -> None:
    cluster = incident("under-min-isr-kraft")
    cluster.changer.alter_configs(TOPIC, "orders", {UNCLEAN: "true"})
    args = on_tp("manual.bring_back", cluster)
    assert guards_pass("manual.bring_back", args, cluster)


def test_no_broker_is_named_whose_registration_the_controller_does_not_outlive() -> None:
    cluster = waits()
    args = on_tp("manual.bring_back", cluster)
    assert guards_pass("manual.bring_back", args, cluster)
    cluster.kraft.last_known[TP] = (3,)
    assert not guards_pass("manual.bring_back", args, cluster)
    with pytest.raises(RefusedError, match=r"last known leader \[3\] is no longer a replica"):
        on_tp("manual.bring_back", cluster)


# --- a reassignment to a part of the target of one that is under way


@pytest.mark.parametrize("replicas", [(1,), (3,), (1, 2)])
def test_a_reassignment_to_a_part_of_the_target_under_way_is_refused_with_its_reason(replicas: tuple[int, ...]) -> None:
    cluster = MemoryKraftCluster.healthy(topics={"other": 2})
    cluster.add_partition(TP, (2,))
    before = on_tp("reassign.move", cluster, replicas=replicas)
    cluster.copy_seconds = 3600.0
    cluster.reassign(TP, (1, 3))
    with pytest.raises(RefusedError, match="never ends"):
        on_tp("reassign.move", cluster, replicas=replicas)
    assert not guards_pass("reassign.move", before, cluster)
    assert not ask(CheckCall("no_reassignment", Args(ON_TP)), cluster).passed


def test_the_way_back_of_a_move_is_not_sent_while_it_is_under_way() -> None:
    cluster = MemoryKraftCluster.healthy(topics={"other": 2})
    cluster.add_partition(TP, (2,))
    cluster.copy_seconds = 3600.0
    args = on_tp("reassign.move", cluster, replicas=(2, 3))
    carry_out("reassign.move", args, cluster)
    undo = undo_of("reassign.move", args)[1]
    assert not guards_pass(undo.action, undo.args, cluster)


@pytest.mark.parametrize(
    ("value", "why"), [("true", "is true"), (None, "is unknown, since the active controller did not report it")]
)
def test_the_controllers_setting_counts_and_an_unknown_one_is_no_false(value: str | None, why: str) -> None:
    """No broker and no topic has anything but false."""
    cluster = incident("eligible-waits")
    args = freeze("manual.bring_back", cluster, **ON_ORDERS)
    cluster.settings.controllers = {UNCLEAN: value}
    with pytest.raises(RefusedError, match=f"{UNCLEAN} {why}: Kafka may elect a replica that lacks records"):
        freeze("manual.bring_back", cluster, **ON_ORDERS)
    assert not guards_pass("manual.bring_back", args, cluster)
    cluster.changer.alter_configs(TOPIC, "orders", {UNCLEAN: "false"})
    assert guards_pass("manual.bring_back", args, cluster)
    assert freeze("manual.bring_back", cluster, **ON_ORDERS)
