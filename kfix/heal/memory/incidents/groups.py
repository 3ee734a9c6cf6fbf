"""Incidents of groups: members, committed offsets, and transactions that do not end."""

from kfix.core.derive.restoring import OffsetsItem
from kfix.core.diagnosis.finding import FactValue
from kfix.core.snapshot.group_reading import GroupMember
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.snapshot import LogEnd, TopicPartition
from kfix.core.snapshot.transactions import ONGOING, TransactionState
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.groups import MemoryGroup
from kfix.heal.memory.incidents.prepared import PreparedIncident, found, requested
from kfix.heal.memory.transactions import hold

GROUP = "payments"


def member(name: str, instance: str = "") -> GroupMember:
    return GroupMember(name, name.rpartition("-")[0], "/10.0.0.7", instance, ())


def rebalance_held(instance: str = "", kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """`slow-1` had all partitions; `new-1` has come, and the coordinator waits for `slow-1` to join again."""
    cluster = kind.healthy()
    group = cluster.joined[GROUP] = MemoryGroup(GROUP)
    group.settle(member("slow-1", instance))
    group.rebalance(member("new-1"))
    return PreparedIncident(cluster, requested("cluster", ()))


def rebalance_held_by_a_static_member() -> PreparedIncident:
    return rebalance_held("worker-7")


PAYMENTS, MAIL = "payments", "mail"
_TOPIC = "orders"


def offsets_not_loaded(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """The coordinator dropped the offsets of two groups; `mail` has committed an older one since, with metadata."""
    cluster = kind.healthy()
    for number in range(2):
        for broker in cluster.brokers:
            cluster.logs.write(TopicPartition(_TOPIC, number), broker, LogEnd(0, 100), 0)
    cluster.committed[MAIL] = {TopicPartition(_TOPIC, 0): StoredOffset(3, 0, "")}
    saved = (
        OffsetsItem(MAIL, _TOPIC, {TopicPartition(_TOPIC, 0): StoredOffset(40, 0, "")}),
        OffsetsItem(PAYMENTS, _TOPIC, {TopicPartition(_TOPIC, n): StoredOffset(50 + n, 2, "a note") for n in range(2)}),
    )
    return PreparedIncident(cluster, requested("cluster", ()), saved)


def offsets_not_loaded_committed_since() -> PreparedIncident:
    """The same, and `mail` has committed a newer offset after the comparison with the saved ones."""
    incident = offsets_not_loaded()
    incident.cluster.committed[MAIL] = {TopicPartition(_TOPIC, 0): StoredOffset(60, 0, "")}
    return incident


_ORDERS = TopicPartition("orders", 0)
_FAILS_AT = 33


def group_falls_behind(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """Group `mailer` stands at a record of orders-0 that ends its consumers, which were stopped; it is the last one."""
    cluster = kind.healthy()
    for broker in cluster.brokers:
        cluster.logs.write(_ORDERS, broker, LogEnd(0, _FAILS_AT + 1), 0)
    cluster.committed["mailer"] = {_ORDERS: StoredOffset(_FAILS_AT, 0, "a note")}
    return PreparedIncident(cluster, requested("cluster", ()))


def retention_overtakes(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """The log of orders-0 begins shortly before what group `mailer` reads next; the topic keeps a record for 60 s."""
    cluster = kind.healthy()
    for broker in cluster.brokers:
        cluster.logs.write(_ORDERS, broker, LogEnd(30, 100), 0)
    cluster.committed["mailer"] = {_ORDERS: StoredOffset(_FAILS_AT, 0)}
    cluster.records.topic_configs["orders"] = {"retention.ms": "60000"}
    cluster.pace["mailer"] = 5
    tps = tuple(sorted(tp for tp in cluster.records.assignments if tp.topic == _ORDERS.topic))
    return PreparedIncident(cluster, requested(_ORDERS.topic, tps))


_GROUP, _ID = "payments", "ledger-writer"
_STABLE = 20
_TIMEOUT_MS = 900_000


def open_transaction() -> PreparedIncident:
    """The group has read up to the last stable offset of orders-0, which a transaction of 2 minutes holds."""
    cluster = _cluster()
    state = _began(cluster, 120)
    hold(cluster, _ORDERS, state, _STABLE)
    return PreparedIncident(cluster, found("KFX116", _obj(state), (_ORDERS,), facts=_facts(state)))


def open_transaction_unnamed() -> PreparedIncident:
    """The same, and the log of `__transaction_state` has nothing about the producer: only its id is known."""
    incident = open_transaction()
    del incident.cluster.transactions[_ID]
    facts: dict[str, FactValue] = {**incident.finding.facts, "transactional_id": "", "since_ms": 0, "timeout_ms": 0}
    return PreparedIncident(incident.cluster, found("KFX116", incident.finding.obj, (_ORDERS,), facts=facts))


def pending_offsets(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """A transaction of 2 minutes holds the committed offset of a group in orders-0."""
    cluster = _cluster(kind)
    state = _began(cluster, 120)
    cluster.transactions[_ID] = state
    cluster.pending[_GROUP] = {_ORDERS: state.producer}
    return PreparedIncident(cluster, found("KFX108", _obj(state), (_ORDERS,), facts=_facts(state)))


def transaction_marker_lost(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """The transaction was committed with orders-0, which has no marker of it."""
    return _hanging((_ORDERS,), kind=kind)


def transaction_late_record() -> PreparedIncident:
    """A record of the transaction came after its end: orders-0 never belonged to it."""
    return _hanging((TopicPartition("orders", 1),))


def transaction_outcome_unknown() -> PreparedIncident:
    """Compaction has removed what the coordinator decided."""
    incident = _hanging(())
    incident.cluster.compacted = True
    incident.cluster.decisions.clear()
    return incident


def _hanging(tps: tuple[TopicPartition, ...], *, kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    cluster = _cluster(kind)
    state = _began(cluster, 120)
    hold(cluster, _ORDERS, state, _STABLE)
    later = state.started_ms + 1_000
    cluster.decisions.append(state._replace(status="PrepareCommit", partitions=tps, updated_ms=later))
    cluster.transactions[_ID] = state._replace(status="CompleteCommit", updated_ms=later)
    facts: dict[str, FactValue] = {"transactional_id": _ID, "producer": state.producer}
    return PreparedIncident(cluster, found("KFX122", _obj(state), (_ORDERS,), facts=facts))


def _cluster(kind: type[MemoryCluster] = MemoryCluster) -> MemoryCluster:
    cluster = kind.healthy(groups={_GROUP: 1})
    cluster.committed[_GROUP] = {_ORDERS: StoredOffset(_STABLE, 0, "")}
    return cluster


def _began(cluster: MemoryCluster, seconds_ago: float) -> TransactionState:
    began = int((cluster.clock.now() - seconds_ago) * 1000)
    return TransactionState(_ID, 4000, 3, _TIMEOUT_MS, ONGOING, began)


def _obj(state: TransactionState) -> str:
    return f"producer id {state.producer}"


def _facts(state: TransactionState) -> dict[str, FactValue]:
    return {
        "transactional_id": state.transactional_id,
        "producer": state.producer,
        "producer_epoch": state.epoch,
        "since_ms": state.started_ms,
        "timeout_ms": state.timeout_ms,
        "group": _GROUP,
    }
