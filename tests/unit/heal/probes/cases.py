"""Clusters that a probe is asked of, and what it must see there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import ABSENT, ArgValue
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import LogEnd
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.incidents import STUCK
from kfix.heal.probes.coordinators import group_on
from tests.unit.heal.actions.acting import ON_TP, RATES, TOPIC_LISTS, TP, dead_isr, four_brokers, moving
from tests.unit.heal.probes.eligible_cases import CASES as ELIGIBLE
from tests.unit.heal.probes.group_cases import CASES as GROUPS
from tests.unit.heal.probes.leadership_cases import CASES as LEADERSHIP
from tests.unit.heal.probes.load_failure_cases import CASES as LOAD_FAILURES
from tests.unit.heal.probes.load_failure_cases import USUAL
from tests.unit.heal.probes.min_isr_cases import CASES as MIN_ISRS
from tests.unit.heal.probes.quorum_cases import CASES as QUORUM
from tests.unit.heal.probes.registration_cases import CASES as REGISTRATIONS
from tests.unit.heal.probes.rolling_cases import CASES as ROLLING
from tests.unit.heal.probes.voter_cases import CASES as VOTERS

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
TOPIC: Mapping[str, ArgValue] = {"kind": "topic", "name": "orders"}
BROKER: Mapping[str, ArgValue] = {"kind": "broker", "name": "2"}


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


def transaction(name: str = "open-transaction") -> Callable[[], MemoryCluster]:
    return lambda: INCIDENTS[name]().cluster


_STATE = INCIDENTS["open-transaction"]().cluster.transactions["ledger-writer"]
PRODUCER: Mapping[str, ArgValue] = {"producer": _STATE.producer, "producer_epoch": _STATE.epoch}
THAT: Mapping[str, ArgValue] = {
    "transactional_id": _STATE.transactional_id,
    **PRODUCER,
    "since_ms": _STATE.started_ms,
}


_SEEN = INCIDENTS["transaction-marker-lost"]().cluster.hanging(TP)
HANGS = "" if _SEEN is None else _SEEN.text


def aborting() -> MemoryCluster:
    """The coordinator writes the markers of the end, and the epoch is already the next one."""
    cluster = transaction()()
    cluster.transactions["ledger-writer"] = _STATE._replace(status="PrepareAbort", epoch=_STATE.epoch + 1)
    return cluster


def ended() -> MemoryCluster:
    cluster = transaction()()
    cluster.transactions["ledger-writer"] = _STATE._replace(status="CompleteCommit")
    return cluster


def next_one() -> MemoryCluster:
    """The producer, which works after all, has begun its next transaction with the same epoch."""
    cluster = transaction()()
    cluster.transactions["ledger-writer"] = _STATE._replace(started_ms=_STATE.started_ms + 1)
    return cluster


def without_its_state(cluster: MemoryCluster) -> MemoryCluster:
    """Nothing is recorded of who leads orders-0."""
    del cluster.records.states[TP]
    return cluster


def with_an_empty_log() -> MemoryCluster:
    cluster = four_brokers()
    cluster.logs.write(TP, 3, LogEnd(0, 0), 0)
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


def disk_failed(*brokers: int) -> MemoryCluster:
    """Their replicas of orders-0 are offline, and they live."""
    cluster = four_brokers()
    for broker in brokers:
        cluster.brokers[broker].offline.add(TP)
    return cluster


def diverged(*, leader: int = 2, more: int = 0, unclean: bool = False) -> MemoryCluster:
    """ZooKeeper names `leader`, all follow broker 1, who has `more` records."""
    cluster = four_brokers()
    cluster.corrupt_state(TP, leader=leader, isr=(leader,))
    cluster.append(TP, more, (1,))
    if unclean:
        cluster.alter_configs(ResourceKind.TOPIC, "orders", {UNCLEAN: "true"})
    return cluster


def stuck_with_a_dead_isr(*, unclean: bool) -> MemoryCluster:
    """B3 with an ISR of one: the controller thinks the partition well, and a new one would not."""
    cluster = diverged(leader=3)
    cluster.kill(3)
    if unclean:
        cluster.alter_configs(ResourceKind.TOPIC, "orders", {UNCLEAN: "true"})
    return cluster


def silent(cluster: MemoryCluster, *brokers: int) -> MemoryCluster:
    for broker in brokers:
        cluster.silence(broker)
    return cluster


Case = tuple[str, Callable[[], MemoryCluster], Mapping[str, ArgValue], str, str]


CASES: list[Case] = [
    *LOAD_FAILURES,
    *LEADERSHIP,
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
    ("isr_at_least", four_brokers, {**ON_TP, "n": 3}, "pass", "ISR [1, 2, 3]"),
    ("isr_at_least", alone, {**ON_TP, "n": 2}, "fail", "ISR [1]"),
    ("isr_at_least", dead_isr, {**ON_TP, "n": 1}, "fail", "ISR [1], registered [2, 3, 4]"),
    ("min_isr_satisfied", lambda: with_min_isr("3", four_brokers()), ON_TP, "pass", "ISR [1, 2, 3]"),
    ("min_isr_satisfied", lambda: with_min_isr("2", alone()), ON_TP, "fail", "ISR [1]"),
    ("leader_is", four_brokers, {**ON_TP, "broker": 1}, "pass", "leader 1"),
    ("leader_is", four_brokers, {**ON_TP, "broker": 2}, "fail", "leader 1"),
    ("leader_is", dead_isr, {**ON_TP, "broker": 1}, "fail", "leader none"),
    ("leader_is_preferred", four_brokers, ON_TP, "pass", "assignment [1,2,3]"),
    ("leader_is_preferred", lambda: without(1), ON_TP, "fail", "leader 2"),
    ("leader_is_preferred", four_brokers, {"partition": "none-0"}, "inconclusive", "assignment unknown"),
    ("isr_is_dead", dead_isr, ON_TP, "pass", "leader none, epoch 2, ISR [1], registered [2, 3, 4]"),
    ("isr_is_dead", four_brokers, ON_TP, "fail", "leader 1"),
    ("isr_is_dead", lambda: INCIDENTS["coordinator-stuck"]().cluster, {"partition": str(STUCK)}, "fail", "none"),
    ("log_tails_known", dead_isr, ON_TP, "pass", "broker 2: end 100, last epoch 0; broker 3: end 100, last epoch 0"),
    ("log_tails_known", lambda: without(1, 2, 3), ON_TP, "fail", "no assigned replica is registered"),
    ("log_tails_known", with_an_empty_log, ON_TP, "pass", "broker 3: end 0, empty"),
    ("cancel_is_safe", lambda: moving(1, 2, 4), ON_TP, "pass", "of the originals alive and in sync: [1,2,3]"),
    ("cancel_is_safe", four_brokers, ON_TP, "fail", "no move under way"),
    ("cancel_is_safe", out_of_its_originals, ON_TP, "fail", "of the originals alive and in sync: []"),
    ("cancel_is_safe", lambda: without_its_state(moving(1, 2, 4)), ON_TP, "inconclusive", "state unknown"),
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
    *GROUPS,
    ("transaction_is_open", transaction(), THAT, "pass", "Ongoing, producer id 4000 epoch 3"),
    ("transaction_is_open", ended, THAT, "fail", "CompleteCommit"),
    ("transaction_is_open", next_one, THAT, "fail", "Ongoing"),
    ("transaction_is_open", four_brokers, THAT, "fail", "no record since then"),
    ("transaction_ended", transaction(), THAT, "fail", "Ongoing"),
    ("transaction_ended", aborting, THAT, "fail", "PrepareAbort"),
    ("transaction_ended", ended, THAT, "pass", "CompleteCommit"),
    ("transaction_ended", next_one, THAT, "pass", "Ongoing"),
    ("transaction_ended", four_brokers, THAT, "inconclusive", "no record since then"),
    *MIN_ISRS,
    *QUORUM,
    *ROLLING,
    *REGISTRATIONS,
    *VOTERS,
    ("transaction_hangs", transaction("transaction-marker-lost"), {**ON_TP, "hanging": HANGS}, "pass", "commit"),
    ("transaction_hangs", transaction("transaction-late-record"), {**ON_TP, "hanging": HANGS}, "fail", "abort"),
    ("transaction_hangs", transaction(), {**ON_TP, "hanging": HANGS}, "fail", "no transaction hangs"),
    ("transaction_hangs", transaction("open-transaction-unnamed"), {**ON_TP, "hanging": ""}, "inconclusive", "record"),
    ("producer_hangs_nowhere", transaction("transaction-marker-lost"), {**ON_TP, "producer": 4000}, "fail", "commit"),
    ("producer_hangs_nowhere", transaction("transaction-marker-lost"), {**ON_TP, "producer": 1}, "pass", "none"),
    ("producer_hangs_nowhere", transaction(), {**ON_TP, "producer": 4000}, "pass", "none"),
    (
        "producer_hangs_nowhere",
        transaction("open-transaction-unnamed"),
        {**ON_TP, "producer": 4000},
        "inconclusive",
        "record",
    ),
    ("read_committed_passes", four_brokers, {**ON_TP, "offset": 20}, "pass", "a fetch from 20 reaches 100"),
    ("read_committed_passes", transaction(), {**ON_TP, "offset": 20}, "fail", "a fetch from 20 reaches 20"),
    ("read_committed_passes", dead_isr, {**ON_TP, "offset": 20}, "inconclusive", "has no leader"),
    ("stable_offset_free", transaction(), {**ON_TP, **PRODUCER}, "fail", "held at 20 by producer id 4000 epoch 3"),
    ("stable_offset_free", transaction(), {**ON_TP, **PRODUCER, "producer": 1}, "pass", "held at 20 by"),
    ("stable_offset_free", four_brokers, {**ON_TP, **PRODUCER}, "pass", "is the high watermark"),
    ("stable_offset_free", in_transaction, {**ON_TP, **PRODUCER}, "inconclusive", "no whole batch"),
    ("no_pending_offset", transaction("pending-offsets"), {"group": "payments", **ON_TP}, "fail", "UNSTABLE"),
    ("no_pending_offset", transaction(), {"group": "payments", **ON_TP}, "pass", "committed offset 20"),
    ("no_pending_offset", four_brokers, {"group": "payments", **ON_TP}, "pass", "no committed offset"),
    ("controller_is", four_brokers, {"broker": 4}, "pass", "controller 4"),
    ("controller_is", lambda: without(4), {"broker": 4}, "fail", "controller 1"),
    ("free_space", lambda: with_room(121), {"broker": 4, "bytes": 100}, "pass", "broker 4: 121 bytes free"),
    ("free_space", lambda: with_room(120), {"broker": 4, "bytes": 100}, "fail", "broker 4: 120 bytes free"),
    ("free_space", lambda: with_room(None), {"broker": 4, "bytes": 100}, "inconclusive", "free space unknown"),
    (
        "free_space",
        lambda: with_room(10**9),
        {"broker": 4, "bytes": -1},
        "inconclusive",
        "the size of the new replica is unknown",
    ),
    ("free_space", lambda: without(4), {"broker": 4, "bytes": 100}, "inconclusive", "broker 4"),
    ("room_for", lambda: with_room(121), {"broker": 4, "bytes": 100}, "pass", "broker 4: 121 bytes free"),
    ("room_for", lambda: with_room(120), {"broker": 4, "bytes": 100}, "fail", "broker 4: 120 bytes free"),
    ("room_for", lambda: with_room(None), {"broker": 4, "bytes": 100}, "pass", "unknown: this version of Kafka"),
    ("room_for", lambda: without(4), {"broker": 4, "bytes": 100}, "inconclusive", "broker 4"),
    ("isr_replica_online", four_brokers, ON_TP, "pass", "broker 3 ends at 100"),
    ("isr_replica_online", lambda: without(2), ON_TP, "pass", "broker 3 ends at 100"),
    ("isr_replica_online", lambda: disk_failed(3), ON_TP, "fail", "broker 3: KAFKA_STORAGE_ERROR"),
    ("isr_replica_online", dead_isr, ON_TP, "fail", "ISR [1], registered [2, 3, 4]"),
    ("isr_replica_online", lambda: silent(four_brokers(), 3), ON_TP, "inconclusive", "broker 3: no answer"),
    ("holds_longest_log", four_brokers, {**ON_TP, "broker": 2}, "pass", "broker 2 holds what [1, 2, 3] hold"),
    ("holds_longest_log", lambda: diverged(more=5), {**ON_TP, "broker": 2}, "fail", "broker 1 at 105"),
    ("holds_longest_log", lambda: diverged(more=1), {**ON_TP, "broker": 2}, "fail", "ends at 100, broker 1 at 101"),
    ("holds_longest_log", lambda: disk_failed(3), {**ON_TP, "broker": 2}, "inconclusive", "broker 3 is unknown"),
    ("topic_isr_at_least", four_brokers, {"topic": "orders", "n": 3}, "pass", "2 partitions, at least 3 in sync"),
    ("topic_isr_at_least", alone, {"topic": "orders", "n": 2}, "fail", "1 of 2 partitions do not; orders-0"),
    ("topic_isr_at_least", dead_isr, {"topic": "orders", "n": 1}, "fail", "orders-0: leader none"),
    ("topic_isr_at_least", four_brokers, {"topic": "none", "n": 1}, "fail", "none does not exist"),
    *ELIGIBLE,
    ("enough_stay", four_brokers, {**ON_TP, "replicas": (1, 2)}, "pass", "[1,2] of [1,2]"),
    ("enough_stay", lambda: without(3), {**ON_TP, "replicas": (3,)}, "fail", "[3] dead"),
    ("enough_stay", lambda: without(3), {**ON_TP, "replicas": (1, 3)}, "fail", "[3] dead"),
    ("enough_stay", alone, {**ON_TP, "replicas": (2, 3)}, "fail", "[] of [2,3]"),
    (
        "enough_stay",
        lambda: with_min_isr("3", four_brokers()),
        {**ON_TP, "replicas": (1, 2)},
        "fail",
        "[1,2] of [1,2]",
    ),
    ("reelection_is_safe", four_brokers, {}, "pass", "4 partitions; 0 of them"),
    ("reelection_is_safe", diverged, {}, "pass", "1 of them without a leader or with two"),
    ("reelection_is_safe", lambda: diverged(more=5), {}, "fail", "orders-0: broker 2 ends at 100, broker 1 at 105"),
    ("reelection_is_safe", dead_isr, {}, "pass", "1 of them"),
    ("reelection_is_safe", lambda: stuck_with_a_dead_isr(unclean=False), {}, "pass", "1 of them"),
    ("reelection_is_safe", lambda: stuck_with_a_dead_isr(unclean=True), {}, "fail", "enable is true"),
    ("reelection_is_safe", lambda: silent(four_brokers(), 3), {}, "inconclusive", "broker 3: no answer in time"),
    ("reelection_is_safe", lambda: silent(diverged(more=5), 4), {}, "fail", "broker 1 at 105"),
    ("reelection_is_safe", lambda: silent(without_its_state(four_brokers()), 3), {}, "inconclusive", "orders-0"),
    (
        "reelection_is_safe",
        lambda: INCIDENTS["coordinator-stuck"]().cluster,
        {},
        "pass",
        "1 of them without a leader or with two, none would lose records",
    ),
]
ON_A_PARTITION_ALONE = (
    "isr_full",
    "last_known_is_replica",
    "isr_holds_leader_log",
    "no_reassignment",
    "partition_has_leader",
    "partition_has_live_isr",
    "views_agree",
)
#: Asked of an unreadable cluster, with arguments for every probe that wants more than a partition.
ARGS: Mapping[str, Mapping[str, ArgValue]] = {
    "elr_not_needed": {"topic": TP.topic},
    "every_partition_led": {"topic": TP.topic},
    "no_unclean_at_start": ON_TP,
    **{check: args for check, _, args, *_ in reversed(CASES)},
    "free_space": {"broker": 4, "bytes": 100},
    "cluster_reachable": {},
    "controller_reelected": {"after": 1},
    "coordinator_gave_up": {"partition": "__consumer_offsets-0", "group": group_on(0, 2)},
    "compaction_is": {**USUAL, "topic": "orders"},
    "retention_is": {"topic": "orders", "retention_ms": ABSENT, "retention_bytes": ABSENT},
    "topic_in_sync": {"topic": "orders"},
    "compaction_possible": ON_TP,
    "coordinator_answers": {"partition": "__consumer_offsets-0", "group": group_on(0, 2)},
    "leader_from_isr": {**ON_TP, "isr": (1, 2, 3)},
    "unclean_winner_leads": {**ON_TP, "broker": 2},
    **dict.fromkeys(ON_A_PARTITION_ALONE, ON_TP),
}
