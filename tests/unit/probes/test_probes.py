"""Every probe passes, fails and does not know; what it saw is told in words an operator understands."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from kfix.adapters.memory.cluster import MemoryCluster
from kfix.adapters.memory.incidents import ALL as INCIDENTS
from kfix.adapters.memory.incidents import STUCK
from kfix.errors import RefusedError
from kfix.model.args import ABSENT, Args, ArgValue
from kfix.model.facts import split_key
from kfix.model.plan import CheckCall
from kfix.model.reading import ResourceKind
from kfix.model.verdict import Answer, Verdict
from kfix.probes.coordinator_answers import group_on
from kfix.probes.facts import FactReader
from kfix.probes.registry import ALL as PROBES
from kfix.probes.registry import ask
from tests.unit.actions.acting import ON_TP, RATES, TOPIC_LISTS, TP, dead_isr, four_brokers, moving

MIN_ISR = "min.insync.replicas"
TOPIC: Mapping[str, ArgValue] = {"kind": "topic", "name": "orders"}
BROKER: Mapping[str, ArgValue] = {"kind": "broker", "name": "2"}


def asked(check: str, cluster: MemoryCluster, /, **args: ArgValue) -> Answer:
    return ask(CheckCall(check, Args(args)), cluster)


def on_tp(check: str, cluster: MemoryCluster, /, **args: ArgValue) -> Answer:
    return asked(check, cluster, **{**ON_TP, **args})


def without(*brokers: int) -> MemoryCluster:
    cluster = four_brokers()
    for broker in brokers:
        cluster.kill(broker)
    return cluster


def alone() -> MemoryCluster:
    """Broker 1 leads and is the only one in sync."""
    cluster = four_brokers()
    cluster.control.lead(TP, 1, (1,))
    return cluster


def throttled() -> MemoryCluster:
    cluster = four_brokers()
    cluster.alter_configs(ResourceKind.BROKER, "2", {RATES[0]: "700"})
    cluster.alter_configs(ResourceKind.TOPIC, "orders", {TOPIC_LISTS[0]: ""})
    return cluster


def with_min_isr(value: str, cluster: MemoryCluster) -> MemoryCluster:
    cluster.alter_configs(ResourceKind.TOPIC, "orders", {MIN_ISR: value})
    return cluster


def in_transaction() -> MemoryCluster:
    cluster = four_brokers()
    cluster.logs.open_transactions[TP] = 40
    return cluster


def with_room(free: int | None) -> MemoryCluster:
    cluster = four_brokers()
    cluster.brokers[4].free = free
    return cluster


def out_of_its_originals() -> MemoryCluster:
    """KAFKA-14424: moved from [1] to [4,3], 3 never arrives, 1 dies."""
    cluster = four_brokers()
    cluster.reassign(TP, (1,))
    cluster.advance(1)
    cluster.reassign(TP, (4, 3))
    cluster.brokers[3].alive = False
    cluster.advance(1)
    cluster.kill(1)
    return cluster


Case = tuple[str, Callable[[], MemoryCluster], Mapping[str, ArgValue], str, str]
CASES: list[Case] = [
    ("brokers_registered", four_brokers, {"brokers": (1, 4)}, "pass", "registered [1,2,3,4]"),
    ("brokers_registered", lambda: without(3), {"brokers": (1, 3)}, "fail", "registered [1,2,4], missing [3]"),
    ("brokers_registered", four_brokers, {"brokers": ()}, "inconclusive", "registered"),
    ("brokers_live_at_least", four_brokers, {"n": 4}, "pass", "4 registered: [1,2,3,4]"),
    ("brokers_live_at_least", lambda: without(2), {"n": 4}, "fail", "3 registered: [1,3,4]"),
    ("assignment_is", four_brokers, {**ON_TP, "replicas": (1, 2, 3)}, "pass", "replicas [1,2,3], no move under way"),
    ("assignment_is", four_brokers, {**ON_TP, "replicas": (2, 1, 3)}, "fail", "replicas [1,2,3]"),
    (
        "assignment_is",
        lambda: moving(1, 2, 4),
        {**ON_TP, "replicas": (1, 2, 4)},
        "fail",
        "moving from [1,2,3] to [1,2,4]: adding [4], removing [3]",
    ),
    ("assignment_is", four_brokers, {"partition": "none-0", "replicas": (1,)}, "fail", "does not exist"),
    ("preferred_is", four_brokers, {**ON_TP, "broker": 1}, "pass", "assignment [1,2,3]"),
    ("preferred_is", four_brokers, {**ON_TP, "broker": 2}, "fail", "assignment [1,2,3]"),
    ("preferred_is", four_brokers, {"partition": "none-0", "broker": 2}, "inconclusive", "no assignment"),
    ("rf_is", four_brokers, {"topic": "orders", "rf": 3}, "pass", "all 2 partitions have 3 replicas"),
    ("rf_is", four_brokers, {"topic": "orders", "rf": 2}, "fail", "2 of 2 do not; orders-0: replicas [1,2,3]"),
    ("rf_is", lambda: moving(1, 2, 4), {"topic": "orders", "rf": 3}, "fail", "1 of 2 do not; orders-0: moving from"),
    ("rf_is", four_brokers, {"topic": "none", "rf": 3}, "fail", "none does not exist"),
    ("isr_at_least", four_brokers, {**ON_TP, "n": 3}, "pass", "isr [1, 2, 3]"),
    ("isr_at_least", alone, {**ON_TP, "n": 2}, "fail", "isr [1]"),
    ("isr_at_least", dead_isr, {**ON_TP, "n": 1}, "fail", "isr [1], registered [2, 3, 4]"),
    ("min_isr_satisfied", lambda: with_min_isr("3", four_brokers()), ON_TP, "pass", "isr [1, 2, 3]"),
    ("min_isr_satisfied", lambda: with_min_isr("2", alone()), ON_TP, "fail", "isr [1]"),
    ("min_isr_satisfied", dead_isr, ON_TP, "fail", "leader none"),
    ("leader_is", four_brokers, {**ON_TP, "broker": 1}, "pass", "leader 1"),
    ("leader_is", four_brokers, {**ON_TP, "broker": 2}, "fail", "leader 1"),
    ("leader_is", dead_isr, {**ON_TP, "broker": 1}, "fail", "leader none"),
    ("leader_is_preferred", four_brokers, ON_TP, "pass", "assignment [1,2,3]"),
    ("leader_is_preferred", lambda: without(1), ON_TP, "fail", "leader 2"),
    ("leader_is_preferred", four_brokers, {"partition": "none-0"}, "inconclusive", "assignment unknown"),
    ("isr_is_dead", dead_isr, ON_TP, "pass", "leader none, epoch 2, isr [1], registered [2, 3, 4]"),
    ("isr_is_dead", four_brokers, ON_TP, "fail", "leader 1"),
    ("isr_is_dead", lambda: INCIDENTS["stuck-offsets-partition"]().cluster, {"partition": str(STUCK)}, "fail", "none"),
    ("unclean_winner_is", dead_isr, {**ON_TP, "broker": 2}, "pass", "assignment [1,2,3], registered of them [2,3]"),
    ("unclean_winner_is", dead_isr, {**ON_TP, "broker": 3}, "fail", "registered of them [2,3]"),
    ("unclean_winner_is", lambda: without(1, 2, 3), {**ON_TP, "broker": 2}, "fail", "registered of them []"),
    ("log_tails_known", dead_isr, ON_TP, "pass", "broker 2: end 100, last epoch 0; broker 3: end 100, last epoch 0"),
    ("log_tails_known", lambda: without(1, 2, 3), ON_TP, "fail", "no assigned replica is registered"),
    ("cancel_is_safe", lambda: moving(1, 2, 4), ON_TP, "pass", "of the originals alive and in sync: [1,2,3]"),
    ("cancel_is_safe", four_brokers, ON_TP, "fail", "no move under way"),
    ("cancel_is_safe", out_of_its_originals, ON_TP, "fail", "of the originals alive and in sync: []"),
    ("no_foreign_reassignment", four_brokers, {"partitions": ""}, "pass", "none"),
    ("no_foreign_reassignment", lambda: moving(1, 2, 4), {"partitions": "orders-1 orders-0"}, "pass", "none"),
    ("no_foreign_reassignment", lambda: moving(1, 2, 4), {"partitions": "orders-1"}, "fail", "1 under way: orders-0"),
    (
        "config_is",
        lambda: with_min_isr("2", four_brokers()),
        {**TOPIC, "key": MIN_ISR, "value": "2"},
        "pass",
        "topic orders: min.insync.replicas 2",
    ),
    ("config_is", four_brokers, {**TOPIC, "key": MIN_ISR, "value": "1"}, "fail", "(absent)"),
    ("config_is", four_brokers, {**TOPIC, "key": MIN_ISR, "value": ABSENT}, "pass", "(absent)"),
    ("throttles_are", throttled, {**BROKER, "leader": "700", "follower": ABSENT}, "pass", "leader throttle 700"),
    ("throttles_are", throttled, {**BROKER, "leader": ABSENT, "follower": ABSENT}, "fail", "leader throttle 700"),
    ("no_throttles", throttled, TOPIC, "pass", "topic orders: none"),
    ("no_throttles", throttled, BROKER, "fail", "broker 2: leader.replication.throttled.rate 700"),
    ("no_open_transactions", four_brokers, ON_TP, "pass", "last stable offset 100, high watermark 100"),
    ("no_open_transactions", in_transaction, ON_TP, "fail", "a transaction is open from offset 40 on"),
    ("no_open_transactions", dead_isr, ON_TP, "inconclusive", "has no leader"),
    ("controller_is", four_brokers, {"broker": 4}, "pass", "controller 4"),
    ("controller_is", lambda: without(4), {"broker": 4}, "fail", "controller 1"),
    ("free_space", lambda: with_room(121), {"broker": 4, "bytes": 100}, "pass", "broker 4: 121 bytes free"),
    ("free_space", lambda: with_room(120), {"broker": 4, "bytes": 100}, "fail", "broker 4: 120 bytes free"),
    ("free_space", lambda: with_room(None), {"broker": 4, "bytes": 100}, "inconclusive", "free space unknown"),
    ("free_space", lambda: with_room(10**9), {"broker": 4, "bytes": -1}, "inconclusive", "size of what is to come"),
    ("free_space", lambda: without(4), {"broker": 4, "bytes": 100}, "inconclusive", "broker 4"),
]
ON_A_PARTITION_ALONE = (
    "isr_full",
    "isr_holds_leader_log",
    "no_reassignment",
    "partition_has_leader",
    "partition_has_live_isr",
    "views_agree",
)
#: Asked of an unreadable cluster, with arguments for every probe that wants more than a partition.
ARGS: Mapping[str, Mapping[str, ArgValue]] = {
    **{check: args for check, _, args, *_ in reversed(CASES)},
    "free_space": {"broker": 4, "bytes": 100},
    "cluster_reachable": {},
    "controller_reelected": {"after": 1},
    "coordinator_answers": {"partition": "__consumer_offsets-0", "group": group_on(0, 2)},
    "leader_from_isr": {**ON_TP, "isr": (1, 2, 3)},
    **dict.fromkeys(ON_A_PARTITION_ALONE, ON_TP),
}


@pytest.mark.parametrize(("check", "build", "args", "verdict", "observed"), CASES)
def test_what_a_probe_sees(
    check: str, build: Callable[[], MemoryCluster], args: Mapping[str, ArgValue], verdict: str, observed: str
) -> None:
    answer = ask(CheckCall(check, Args(args)), build())
    assert answer.verdict == verdict, answer
    assert observed in answer.observed
    assert answer.wanted


def test_every_probe_of_the_house_is_asked_here() -> None:
    assert ARGS.keys() == PROBES.keys()


@pytest.mark.parametrize("name", sorted(PROBES))
def test_nothing_readable_is_inconclusive(name: str) -> None:
    cluster = four_brokers()
    sources = ("zookeeper", "reassignments", "log_ends", "log_tails", "log_dirs", "configs", "assignments")
    cluster.faults.unreadable |= dict.fromkeys(sources, "gone")
    for broker in cluster.brokers:
        cluster.silence(broker)
    answer = ask(CheckCall(name, Args(ARGS[name])), cluster)
    assert answer.verdict is Verdict.INCONCLUSIVE, answer
    assert answer.observed


@pytest.mark.parametrize("name", sorted(PROBES))
def test_what_a_probe_rests_on_are_facts_and_its_arguments_are_whole(name: str) -> None:
    probe, args = PROBES[name], Args(ARGS[name])
    assert set(args) == {*probe.params, *probe.optional}
    assert all(split_key(key) for key in probe.reads(args))
    assert probe.freeze(args, FactReader(four_brokers())) == args


def test_a_controller_that_does_not_list_its_moves_leaves_an_assignment_unproved() -> None:
    cluster = four_brokers()
    cluster.faults.unreadable["reassignments"] = "gone"
    assert on_tp("assignment_is", cluster, replicas=(1, 2, 3)).verdict is Verdict.INCONCLUSIVE


def test_a_demand_that_cannot_be_read_is_not_met() -> None:
    cluster = four_brokers()
    cluster.faults.unreadable["configs"] = "gone"
    assert on_tp("min_isr_satisfied", cluster).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("hurt", ["silent", "epoch"])
def test_a_log_whose_end_or_epoch_is_not_told_is_not_known(hurt: str) -> None:
    cluster = dead_isr()
    if hurt == "silent":
        cluster.silence(3)
    else:
        cluster.logs.epochs[TP][3] = -1
    answer = on_tp("log_tails_known", cluster)
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert ("no answer" if hurt == "silent" else "last epoch unknown") in answer.observed


@pytest.mark.parametrize("check", ["config_is", "throttles_are", "no_throttles"])
def test_a_resource_that_is_neither_topic_nor_broker_is_refused_while_planning(check: str) -> None:
    args = Args({**ARGS[check], "kind": "group"})
    with pytest.raises(RefusedError, match="only a topic or a broker"):
        PROBES[check].freeze(args, FactReader(four_brokers()))


def test_a_list_of_own_partitions_is_read_while_planning() -> None:
    with pytest.raises(RefusedError, match="'orders,' is not a partition"):
        PROBES["no_foreign_reassignment"].freeze(Args({"partitions": "orders, x-1"}), FactReader(four_brokers()))
