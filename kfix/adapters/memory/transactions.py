"""Transactions of the in-memory cluster: their coordinator, and the last stable offsets that they hold."""

from __future__ import annotations

from kfix.adapters.memory.answers import stable_end
from kfix.adapters.memory.parts import MemoryParts
from kfix.errors import UnreachableError
from kfix.model.cluster.reading import ChangeResult
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.cluster.transactions import ONGOING, OpenBatch, TransactionState


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
