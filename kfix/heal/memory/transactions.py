"""Transactions of the in-memory cluster: their coordinator, and the last stable offsets that they hold."""

from collections.abc import Collection
from dataclasses import replace

from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.derive.hanging import Hanging, hanging
from kfix.core.errors import UnreachableError
from kfix.core.snapshot.group_reading import GroupPartition, GroupReading
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import LoggedGroup, OffsetsLog, OpenTransaction, TopicPartition
from kfix.core.snapshot.transactions import ONGOING, OpenBatch, TransactionLog, TransactionState
from kfix.heal.memory.answers import stable_end
from kfix.heal.memory.parts import MemoryParts

_APART_SECONDS = 10.0


def state_since(cluster: MemoryParts, transactional_id: str, since_ms: int) -> TransactionState | None:
    found = cluster.transactions.get(transactional_id)
    return found if found is not None and found.started_ms >= since_ms else None


def open_batch(cluster: MemoryParts, tp: TopicPartition) -> OpenBatch | None:
    end = stable_end(cluster, tp)
    if end.stable >= end.high_watermark:
        return None
    if tp not in cluster.open_batches:
        raise UnreachableError(f"{tp}: Fetch returned no whole batch")
    return cluster.open_batches[tp]


def transaction_log(cluster: MemoryParts) -> TransactionLog | None:
    """Returns the states of the producers of open transactions, as a collector names them."""
    producers = {batch.producer for batch in cluster.open_batches.values()}
    producers |= {producer for held in cluster.pending.values() for producer in held.values()}
    if not producers:
        return None
    log = _read(cluster, producers)
    return replace(log, held={tp: b for tp, b in cluster.open_batches.items() if hanging(tp, b, log) is not None})


def _read(cluster: MemoryParts, producers: Collection[int]) -> TransactionLog:
    """Returns what the log has of these producers; of one without a record, a part of the log was not read."""
    found = tuple(sorted(state for state in cluster.transactions.values() if state.producer in producers))
    named = len(found) == len(producers)
    unknown = "no record of __transaction_state since the transaction began has this producer id"
    return TransactionLog(
        found,
        "" if named else unknown,
        records=tuple(state for state in (*cluster.decisions, *found) if state.producer in producers),
        whole=frozenset() if cluster.compacted else frozenset(producers),
        unread=not named,
    )


def hangs(cluster: MemoryParts, tp: TopicPartition) -> Hanging | None:
    batch = open_batch(cluster, tp)
    if batch is None:
        return None
    log = _read(cluster, {batch.producer})
    if log.unread:
        raise UnreachableError(f"{tp}: {log.error}")
    return hanging(tp, batch, log)


def end(cluster: MemoryParts, tp: TopicPartition, batch: OpenBatch) -> ChangeResult:
    """Ends the transaction of this producer; a marker for another one is accepted, and changes nothing."""
    there = cluster.open_batches.get(tp)
    if there is not None and (there.producer, there.epoch) == (batch.producer, batch.epoch):
        del cluster.open_batches[tp]
        cluster.logs.open_transactions.pop(tp, None)
    return ChangeResult(0, "NONE")


def group_readings(cluster: MemoryParts) -> tuple[GroupReading, ...]:
    """Returns a reading of each group, and two with its offsets where open transactions hold partitions."""
    now = cluster.clock.now()
    found = [
        GroupReading(name, now, next(iter(cluster.brokers)), None, None, partitions={})
        for name in cluster.groups
        if name not in cluster.committed or not cluster.open_batches
    ]
    for name, stored in cluster.committed.items() if cluster.open_batches else ():
        held = {tp: cluster.open_batches[tp] for tp in stored if tp in cluster.open_batches}
        ends = {tp: stable_end(cluster, tp) for tp in stored}
        partitions = {
            tp: GroupPartition(each.offset, 0, 0, ends[tp].high_watermark, ends[tp].stable, "")
            for tp, each in stored.items()
        }
        for seconds in (_APART_SECONDS, 0.0):
            at = now - seconds
            found.append(GroupReading(name, at, None, None, None, "Empty", "", (), partitions, held=held))
    return tuple(found)


def offsets_logs(cluster: MemoryParts, partitions: int) -> tuple[OffsetsLog, ...]:
    """Returns the logs of the offsets partitions in which an open transaction holds an offset of a group."""
    found = []
    for name, held in cluster.pending.items():
        number = partition_of_group(name, partitions)
        leader = cluster.records.states[TopicPartition(OFFSETS_TOPIC, number)].leader
        states = {state.producer: state for state in cluster.transactions.values()}
        opened = tuple(OpenTransaction(p, states[p].started_ms, (name,)) for p in sorted(set(held.values())))
        waits = (LoggedGroup(name, len(held), None, tuple(sorted(held))),)
        if held:
            found.append(OffsetsLog(number, leader, 0, 100, 99, 99, 100, waits, opened))
    return tuple(found)


def hold(cluster: MemoryParts, tp: TopicPartition, state: TransactionState, stable: int) -> None:
    """Makes the transaction hold the last stable offset of this partition."""
    cluster.transactions[state.transactional_id] = state
    cluster.open_batches[tp] = OpenBatch(stable, state.producer, state.epoch, state.started_ms)
    cluster.logs.open_transactions[tp] = stable


def abort(cluster: MemoryParts, transactional_id: str, producer: int, epoch: int) -> ChangeResult:
    """Compares the epoch only if no transaction is open, as a coordinator does (docs/facts/consumer-groups.md)."""
    state = cluster.transactions.get(transactional_id)
    was_open = state is not None and state.status == ONGOING
    if state is None or state.producer != producer or not (was_open or state.epoch == epoch):
        return ChangeResult(47, "INVALID_PRODUCER_EPOCH")
    after = "CompleteAbort" if was_open else "Empty"
    cluster.transactions[transactional_id] = state._replace(status=after, epoch=state.epoch + 1)
    for tp in [tp for tp, batch in cluster.open_batches.items() if batch.producer == producer]:
        del cluster.open_batches[tp]
        cluster.logs.open_transactions.pop(tp, None)
    for held in cluster.pending.values():
        for tp in [tp for tp, holder in held.items() if holder == producer]:
            del held[tp]
    return ChangeResult(0, "NONE", "the coordinator is ending the transaction" if was_open else "")
