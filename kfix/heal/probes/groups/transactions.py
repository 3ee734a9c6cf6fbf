"""One transaction as arguments: its transactional.id, and the producer id and epoch that it was seen with."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.transactions import ENDING, ONGOING, TransactionState

#: `since_ms` is the time at which the transaction began, by its coordinator's clock.
TRANSACTION: Mapping[str, ArgKind] = {
    "transactional_id": ArgKind.TEXT,
    "producer": ArgKind.INT,
    "producer_epoch": ArgKind.INT,
    "since_ms": ArgKind.INT,
}


def read_transaction(args: Args, reader: ClusterReader) -> TransactionState | None:
    return reader.transaction(args.text("transactional_id"), args.number("since_ms"))


def began_then(args: Args, state: TransactionState) -> bool:
    """Returns whether this is that very transaction: a producer that works begins the next one with the same epoch."""
    seen = (args.number("producer"), args.number("producer_epoch"), args.number("since_ms"))
    return (state.producer, state.epoch, state.started_ms) == seen


def is_open(args: Args, state: TransactionState | None) -> bool:
    return state is not None and began_then(args, state) and state.status == ONGOING


def has_ended(args: Args, state: TransactionState | None) -> bool | None:
    """Returns whether the coordinator has written the end of this transaction; None without a record of it.

    While it writes the markers, the epoch may already be a new one. The next transaction may have begun since.
    """
    if state is None:
        return None
    return state.status not in ENDING and not (state.status == ONGOING and began_then(args, state))


def state_text(args: Args, state: TransactionState | None) -> str:
    name = args.text("transactional_id")
    return f"{name}: {'no record since then' if state is None else state.text}"
