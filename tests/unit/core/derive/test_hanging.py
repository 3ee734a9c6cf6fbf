"""Which open transactions hang, and with which outcome they ended, by the log of their coordinator."""

from __future__ import annotations

from typing import Any

import pytest

from kfix.core.derive.hanging import ABORT, COMMIT, UNKNOWN, hanging, parsed
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.snapshot.transactions import OpenBatch, TransactionLog, TransactionState

TP, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
BATCH = OpenBatch(5, 4000, 3, 10_000)


def record(status: str, *tps: TopicPartition, epoch: int = 3, at_ms: int = 11_000) -> TransactionState:
    return TransactionState("ledger", 4000, epoch, 60_000, status, 9_000, tps, at_ms)


def judged(*records: TransactionState, **log: Any) -> str | None:
    known: dict[str, Any] = {"records": records, "unread": False, "whole": frozenset({4000}), **log}
    found = hanging(TP, BATCH, TransactionLog(**known))
    return None if found is None else found.outcome


ONGOING, COMMITTED = record("Ongoing", TP), record("PrepareCommit", TP)
DONE = record("CompleteCommit")


@pytest.mark.parametrize(
    ("records", "outcome"),
    [
        ((ONGOING, COMMITTED, DONE), COMMIT),
        ((ONGOING, record("PrepareAbort", TP), record("CompleteAbort")), ABORT),
        # A newer epoch, after a transaction that timed out, and with every transaction of version 2.
        ((ONGOING, record("PrepareAbort", TP, epoch=4), record("CompleteAbort", epoch=4)), ABORT),
        ((COMMITTED, record("Ongoing", OTHER, epoch=5)), COMMIT),
        # The partition never belonged to a transaction.
        ((record("Ongoing", OTHER), record("PrepareCommit", OTHER), DONE), ABORT),
        # Committed before the record came, which a late record follows.
        ((record("PrepareCommit", TP, at_ms=9_999), DONE), UNKNOWN),
        ((COMMITTED, record("PrepareAbort", TP), DONE), UNKNOWN),
        # Compacted, or the id is of a later epoch.
        ((record("PrepareCommit", TP, epoch=9), record("CompleteCommit", epoch=9)), ABORT),
        ((), UNKNOWN),
    ],
)
def test_the_outcome_is_that_of_the_coordinator(records: tuple[TransactionState, ...], outcome: str) -> None:
    assert judged(*records) == outcome


def test_without_every_record_nothing_shows_that_a_partition_never_belonged() -> None:
    assert judged(record("PrepareCommit", OTHER), DONE, whole=frozenset()) == UNKNOWN
    assert judged(COMMITTED, DONE, whole=frozenset()) == COMMIT


@pytest.mark.parametrize(
    "records",
    [
        (ONGOING,),
        (record("Ongoing", OTHER),),
        (ONGOING, COMMITTED),
        (record("PrepareAbort", TP, epoch=4),),
        # A producer that uses its epoch again.
        (COMMITTED, DONE, record("Ongoing", OTHER)),
    ],
)
def test_what_its_coordinator_has_open_does_not_hang(records: tuple[TransactionState, ...]) -> None:
    assert judged(*records) is None


def test_without_the_whole_log_a_producer_without_a_record_is_unknown() -> None:
    assert judged(unread=True) is None
    assert judged(COMMITTED, DONE, unread=True) == COMMIT


def test_the_fact_of_a_plan_is_read_again() -> None:
    found = hanging(TP, BATCH, TransactionLog(records=(COMMITTED._replace(transactional_id="a b/c"), DONE)))
    assert found is not None
    again = parsed(found.text)
    assert (again.batch, again.outcome) == (BATCH, COMMIT)
    with pytest.raises(ValueError, match="no hanging transaction"):
        parsed("open")
