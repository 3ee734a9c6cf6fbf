"""Probes of leaders, of the controller and of coordinators, and what each must see."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import ArgValue
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.probes.coordinators import group_on
from tests.unit.heal.actions.acting import ON_TP, TP, dead_isr, four_brokers

#: Of the controller of `four_brokers`.
EPOCH = four_brokers().controller().epoch
ON_OFFSETS: Mapping[str, ArgValue] = {"partition": "__consumer_offsets-0", "group": group_on(0, 2)}


def silent_third() -> MemoryCluster:
    cluster = four_brokers()
    cluster.silence(3)
    return cluster


def newer_epoch_in_the_record() -> MemoryCluster:
    """The brokers know the same leader from an epoch before."""
    cluster = four_brokers()
    cluster.records.write_state(TP, 1, 9, (1, 2, 3))
    return cluster


def without(*brokers: int) -> Callable[[], MemoryCluster]:
    def make() -> MemoryCluster:
        cluster = four_brokers()
        for broker in brokers:
            cluster.kill(broker)
        return cluster

    return make


def without_controller() -> MemoryCluster:
    cluster = four_brokers()
    cluster.records.controller = None
    return cluster


def just_died() -> MemoryCluster:
    """Broker 1 leads orders-0 by the record, and is no longer registered."""
    cluster = four_brokers()
    cluster.brokers[1].alive = False
    return cluster


def loading() -> MemoryCluster:
    cluster = four_brokers()
    cluster.loading[0] = 9
    return cluster


def given_up() -> MemoryCluster:
    """The leader of __consumer_offsets-0 refuses its groups."""
    cluster = four_brokers()
    for broker in cluster.brokers.values():
        broker.leading.pop(TP._replace(topic="__consumer_offsets"), None)
    return cluster


def led_elsewhere_by_the_record() -> MemoryCluster:
    """All brokers name a coordinator that refuses its groups, and the record names another leader."""
    cluster = given_up()
    tp = TP._replace(topic="__consumer_offsets")
    leader = cluster.records.states[tp].leader
    other = next(b for b in cluster.records.assignments[tp].replicas if b != leader)
    cluster.corrupt_state(tp, leader=other, isr=(other,))
    return cluster


def silent_coordinator() -> MemoryCluster:
    cluster = four_brokers()
    cluster.silence(cluster.records.states[TP._replace(topic="__consumer_offsets")].leader)
    return cluster


def offline_at_one() -> MemoryCluster:
    """Broker 3 names the leader and its epoch, with an error."""
    cluster = four_brokers()
    cluster.brokers[3].views[TP] = cluster.brokers[3].views[TP]._replace(error=9)
    return cluster


Case = tuple[str, Callable[[], MemoryCluster], Mapping[str, ArgValue], str, str]
CASES: tuple[Case, ...] = (
    ("unclean_winner_is", dead_isr, {**ON_TP, "broker": 2}, "pass", "assignment [1,2,3], registered of them [2,3]"),
    ("unclean_winner_is", dead_isr, {**ON_TP, "broker": 3}, "fail", "registered of them [2,3]"),
    ("unclean_winner_is", without(1, 2, 3), {**ON_TP, "broker": 2}, "fail", "registered of them []"),
    ("unclean_winner_leads", four_brokers, {**ON_TP, "broker": 1}, "pass", "leader 1"),
    (
        "unclean_winner_leads",
        four_brokers,
        {**ON_TP, "broker": 2},
        "fail",
        "Kafka elected 1 instead of 2: unless 1 was in sync, more may be lost than planned: before broker 2 starts",
    ),
    ("unclean_winner_leads", dead_isr, {**ON_TP, "broker": 2}, "fail", "leader none"),
    (
        "leader_from_isr",
        four_brokers,
        {**ON_TP, "isr": (2, 3)},
        "fail",
        "1 was not in sync: before any of brokers 2, 3 starts, copy its log directory",
    ),
    ("unclean_winner_leads", just_died, {**ON_TP, "broker": 1}, "fail", "leader 1"),
    ("leader_from_isr", four_brokers, {**ON_TP, "isr": (1, 2)}, "pass", "leader 1"),
    ("leader_from_isr", just_died, {**ON_TP, "isr": (1, 2)}, "fail", "leader 1"),
    ("leader_from_isr", dead_isr, {**ON_TP, "isr": (1, 2)}, "fail", "leader none"),
    ("controller_reelected", four_brokers, {"after": EPOCH - 1}, "pass", f"epoch {EPOCH}"),
    ("controller_reelected", four_brokers, {"after": EPOCH}, "fail", f"epoch {EPOCH}"),
    ("controller_reelected", without_controller, {"after": EPOCH - 1}, "fail", f"epoch {EPOCH}"),
    ("coordinator_answers", four_brokers, ON_OFFSETS, "pass", "answers"),
    ("coordinator_answers", loading, ON_OFFSETS, "inconclusive", "14"),
    ("coordinator_answers", given_up, ON_OFFSETS, "fail", "16"),
    ("coordinator_gave_up", four_brokers, ON_OFFSETS, "fail", "OffsetFetch 0"),
    ("coordinator_gave_up", given_up, ON_OFFSETS, "pass", "OffsetFetch 16"),
    ("coordinator_gave_up", led_elsewhere_by_the_record, ON_OFFSETS, "fail", "OffsetFetch 16"),
    ("coordinator_gave_up", silent_coordinator, ON_OFFSETS, "inconclusive", "OffsetFetch -1"),
    ("views_agree", four_brokers, ON_TP, "pass", "all agree"),
    ("views_agree", offline_at_one, ON_TP, "fail", "broker 3"),
    ("views_agree", silent_third, ON_TP, "inconclusive", "broker 3 did not answer"),
    ("views_agree", newer_epoch_in_the_record, ON_TP, "fail", "recorded: leader 1 epoch 9"),
)
