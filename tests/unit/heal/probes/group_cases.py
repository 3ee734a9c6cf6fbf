"""Probes of groups, their members and their committed offsets, and what each must see."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import ABSENT, ArgValue
from kfix.core.snapshot.offsets import LoggedRecord, StoredOffset
from kfix.core.snapshot.snapshot import LogEnd
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from tests.unit.heal.actions.acting import TP, dead_isr, four_brokers

OFFSETS: Mapping[str, ArgValue] = {"group": "g", "topic": "orders"}


def with_offsets(*, members: bool = False) -> MemoryCluster:
    """Group g has committed offset 5 of orders-0."""
    cluster = four_brokers()
    cluster.committed["g"] = {TP: StoredOffset(5, 0, "a note")}
    cluster.members |= {"g"} if members else set()
    return cluster


def without_coordinator() -> MemoryCluster:
    cluster = with_offsets()
    cluster.kill(*cluster.brokers)
    return cluster


OF_TOPIC: Mapping[str, ArgValue] = {"group": "mailer", "topic": "orders"}
RETAINED: Mapping[str, ArgValue] = {"retention_ms": "60000", "retention_bytes": ABSENT}


def overtaking(start: int = 30) -> MemoryCluster:
    """Group mailer has committed offset 33 of orders-0, whose log ends at 100."""
    cluster = INCIDENTS["retention-overtakes"]().cluster
    for broker in cluster.brokers:
        cluster.logs.write(TP, broker, LogEnd(start, 100), 0)
    return cluster


SLOW: Mapping[str, ArgValue] = {"group": "payments", "member": "slow-1"}


def held() -> MemoryCluster:
    """`slow-1` of the last generation has not joined again, `new-1` has come."""
    return INCIDENTS["rebalance-held"]().cluster


def without_its_log() -> MemoryCluster:
    cluster = held()
    cluster.joined["payments"].last = frozenset()
    return cluster


def assigning() -> MemoryCluster:
    cluster = held()
    cluster.joined["payments"].state = "CompletingRebalance"
    return cluster


def in_doubt() -> MemoryCluster:
    """An open transaction holds the offset of orders-0, which is 5 until it is committed."""
    cluster = with_offsets()
    cluster.pending["g"] = {TP: 4000}
    return cluster


def log_of_leader(*, start: int = 0, failed: bool = False) -> Callable[[], MemoryCluster]:
    """Broker 1 leads orders-0; its log begins at `start`, or its disk failed."""

    def make() -> MemoryCluster:
        cluster = four_brokers()
        cluster.logs.write(TP, 1, LogEnd(start, 100), 0)
        cluster.brokers[1].offline |= {TP} if failed else set()
        return cluster

    return make


def at_the_end() -> MemoryCluster:
    """The committed offset 5 of g is the end of the log."""
    cluster = with_offsets()
    for broker in cluster.brokers:
        cluster.logs.write(TP, broker, LogEnd(0, 5), 0)
    return cluster


RECORD: Mapping[str, ArgValue] = {"partition": str(TP), "offset": 5}
SAVED = LoggedRecord(TP, 5, 0, 0, False, None, b"orders-0@5")

Case = tuple[str, Callable[[], MemoryCluster], Mapping[str, ArgValue], str, str]
CASES: tuple[Case, ...] = (
    ("group_is_empty", with_offsets, {"group": "g"}, "pass", "group g is Empty"),
    ("group_is_empty", four_brokers, {"group": "g"}, "pass", "group g is Dead"),
    ("group_is_empty", lambda: with_offsets(members=True), {"group": "g"}, "fail", "group g is Stable"),
    ("group_is_empty", without_coordinator, {"group": "g"}, "inconclusive", "does not answer"),
    ("group_is_settled", with_offsets, {"group": "g"}, "pass", "group g is Empty"),
    ("group_is_settled", lambda: with_offsets(members=True), {"group": "g"}, "pass", "group g is Stable"),
    ("group_is_settled", held, {"group": "payments"}, "fail", "group payments is PreparingRebalance"),
    ("group_is_settled", four_brokers, {"group": "wrong"}, "fail", "group wrong is Dead"),
    ("group_is_settled", without_coordinator, {"group": "g"}, "inconclusive", "does not answer"),
    ("member_is_gone", held, {**SLOW, "member": "slow-2"}, "pass", "with 2 members"),
    ("member_is_gone", held, SLOW, "fail", "PreparingRebalance, with 2 members, and has slow-1"),
    ("member_holds_rebalance", held, SLOW, "pass", "after generation 1; the only member that may hold it is slow-1"),
    ("member_holds_rebalance", held, {**SLOW, "member": "new-1"}, "fail", "new-1 has joined since"),
    ("member_holds_rebalance", held, {**SLOW, "member": "slow-2"}, "fail", "has no member slow-2: it has left"),
    ("member_holds_rebalance", without_its_log, SLOW, "pass", "the members that may hold it are slow-1, new-1"),
    ("member_holds_rebalance", assigning, SLOW, "pass", "the members that may hold it are slow-1, new-1"),
    ("member_holds_rebalance", lambda: with_offsets(members=True), {"group": "g", "member": "m"}, "fail", "is Stable"),
    ("member_holds_rebalance", without_coordinator, SLOW, "inconclusive", "does not answer"),
    ("record_is_saved", log_of_leader(), {**RECORD, "sha256": SAVED.sha256}, "pass", "at offset 5 has sha256"),
    ("record_is_saved", log_of_leader(), {**RECORD, "sha256": "00"}, "fail", f"has sha256 {SAVED.sha256}"),
    ("record_is_saved", log_of_leader(start=9), {**RECORD, "sha256": "00"}, "fail", "there is no record at offset 5"),
    ("record_is_saved", dead_isr, {**RECORD, "sha256": "00"}, "inconclusive", "has no leader"),
    ("group_reads_on", with_offsets, {**RECORD, "group": "g", "offset": 3}, "pass", "group g: orders-0 5"),
    ("group_reads_on", with_offsets, {**RECORD, "group": "g"}, "fail", "group g: orders-0 5"),
    ("group_reads_on", with_offsets, {**RECORD, "group": "g", "offset": 4}, "fail", "group g: orders-0 5"),
    ("group_reads_on", at_the_end, {**RECORD, "group": "g", "offset": 4}, "pass", "orders-0 5, and no record follows"),
    ("group_reads_on", with_offsets, {**RECORD, "group": "other"}, "fail", "orders-0 none"),
    ("group_reads_on", without_coordinator, {**RECORD, "group": "g"}, "inconclusive", "does not answer"),
    ("group_has_its_records", overtaking, OF_TOPIC, "pass", "none is below the start"),
    ("group_has_its_records", lambda: overtaking(34), OF_TOPIC, "fail", "orders-0 33 (its log starts at 34)"),
    ("group_has_its_records", overtaking, {**OF_TOPIC, "group": "other"}, "fail", "has no committed offset of orders"),
    ("group_has_its_records", without_coordinator, {**OF_TOPIC, "group": "g"}, "inconclusive", "does not answer"),
    ("group_is_within", overtaking, {**OF_TOPIC, "lag": 67}, "pass", "mailer is 67 records behind in orders-0"),
    ("group_is_within", overtaking, {**OF_TOPIC, "lag": 66}, "fail", "mailer is 67 records behind in orders-0"),
    ("group_is_within", overtaking, {**OF_TOPIC, "group": "other", "lag": 66}, "fail", "no committed offset"),
    ("group_is_within", without_coordinator, {**OF_TOPIC, "group": "g", "lag": 1}, "inconclusive", "does not answer"),
    ("retention_is", overtaking, {"topic": "orders", **RETAINED}, "pass", "retention.ms 60000"),
    ("retention_is", four_brokers, {"topic": "orders", **RETAINED}, "fail", "retention.ms (absent)"),
    ("offsets_are", with_offsets, {**OFFSETS, "offsets": '{"0":"5","1":null}'}, "pass", "orders-0 5, orders-1 none"),
    ("offsets_are", with_offsets, {**OFFSETS, "offsets": '{"0":"6"}'}, "fail", "orders-0 5"),
    ("offsets_are", with_offsets, {**OFFSETS, "offsets": '{"0":null}'}, "fail", "orders-0 5"),
    (
        "offsets_at_least",
        with_offsets,
        {**OFFSETS, "offsets": '{"0":"4","1":null}'},
        "pass",
        "orders-0 5, orders-1 none",
    ),
    ("offsets_at_least", with_offsets, {**OFFSETS, "offsets": '{"0":"6"}'}, "fail", "orders-0 5"),
    ("offsets_at_least", with_offsets, {**OFFSETS, "offsets": '{"1":"0"}'}, "fail", "orders-1 none"),
    ("offsets_at_least", without_coordinator, {**OFFSETS, "offsets": '{"0":"5"}'}, "inconclusive", "does not answer"),
    ("offsets_are", without_coordinator, {**OFFSETS, "offsets": '{"0":"5"}'}, "inconclusive", "does not answer"),
    ("offsets_in_log", four_brokers, {"topic": "orders", "offsets": '{"0":"100"}'}, "pass", "all are"),
    ("offsets_in_log", four_brokers, {"topic": "orders", "offsets": '{"0":null}'}, "pass", "all are"),
    ("offsets_in_log", four_brokers, {"topic": "orders", "offsets": '{"0":"101"}'}, "fail", "its log has 0 to 100"),
    ("offsets_in_log", dead_isr, {"topic": "orders", "offsets": '{"0":"5"}'}, "inconclusive", "has no leader"),
    ("offsets_are", in_doubt, {**OFFSETS, "offsets": '{"0":"5"}'}, "fail", "an open transaction holds orders-0"),
    ("offsets_at_least", in_doubt, {**OFFSETS, "offsets": '{"0":"5"}'}, "fail", "an open transaction holds orders-0"),
    ("offsets_at_least", with_offsets, {**OFFSETS, "offsets": '{"0":"5"}'}, "pass", "orders-0 5"),
    (
        "offsets_in_log",
        log_of_leader(start=10),
        {"topic": "orders", "offsets": '{"0":"9"}'},
        "fail",
        "its log has 10 to 100",
    ),
    ("offsets_in_log", log_of_leader(start=10), {"topic": "orders", "offsets": '{"0":"10"}'}, "pass", "all are"),
    (
        "offsets_in_log",
        log_of_leader(failed=True),
        {"topic": "orders", "offsets": '{"0":"5"}'},
        "inconclusive",
        "broker 1: KAFKA_STORAGE_ERROR",
    ),
)
