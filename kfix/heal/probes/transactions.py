"""One transaction as arguments: its transactional.id, and the producer id and epoch that it was seen with."""

from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.transactions import ENDING, ONGOING, TransactionState
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import ON_PARTITION, probe

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


@probe("the same transaction is still open at its coordinator", TRANSACTION)
def transaction_is_open(args: Args, reader: ClusterReader) -> Answer:
    """The transaction is still open at its coordinator: the same producer id and epoch, and begun at the same time.

    The answer is from the log of `__transaction_state`, which brokers of every version serve.
    """
    state = read_transaction(args, reader)
    wanted = f"Ongoing, producer id {args.number('producer')} epoch {args.number('producer_epoch')}"
    return judge(is_open(args, state), state_text(args, state), f"{wanted}, began {args.number('since_ms')}")


@probe("the coordinator has ended the transaction", TRANSACTION)
def transaction_ended(args: Args, reader: ClusterReader) -> Answer:
    """The coordinator has ended the transaction, and has written the markers of its end to every partition."""
    state = read_transaction(args, reader)
    return judge(has_ended(args, state), state_text(args, state), "committed or aborted, or a later transaction")


@probe("the same transaction hangs, and the log shows the same outcome", {**ON_PARTITION, "hanging": ArgKind.TEXT})
def transaction_hangs(args: Args, reader: ClusterReader) -> Answer:
    """The transaction is open in the partition, and its coordinator does not have it open, as the plan has read it."""
    found = reader.hanging(args.tp())
    observed = f"{args.tp()}: {'no transaction hangs' if found is None else found.text}"
    return judge(found is not None and found.text == args.text("hanging"), observed, args.text("hanging"))


@probe("no transaction of the producer hangs at the last stable offset", {**ON_PARTITION, "producer": ArgKind.INT})
def producer_hangs_nowhere(args: Args, reader: ClusterReader) -> Answer:
    """No transaction of this producer that its coordinator has ended or does not know holds the last stable offset.

    One that its coordinator has open may hold it, and so may one of another producer: that is another finding.
    """
    tp, producer = args.tp(), args.number("producer")
    batch = reader.open_batch(tp)
    found = None if batch is None or batch.producer != producer else reader.hanging(tp)
    wanted = f"no hanging transaction of producer id {producer}"
    return judge(found is None, f"{tp}: {'none' if found is None else found.text}", wanted)


@probe("a consumer with read_committed gets past this offset", {**ON_PARTITION, "offset": ArgKind.INT})
def read_committed_passes(args: Args, reader: ClusterReader) -> Answer:
    """A fetch from this offset with isolation.level=read_committed returns it: the last stable offset is beyond it."""
    offset = args.number("offset")
    reached = reader.served_to(args.tp(), offset)
    return judge(reached > offset, f"{args.tp()}: a fetch from {offset} reaches {reached}", f"beyond offset {offset}")


@probe(
    "the transaction no longer holds the last stable offset",
    {**ON_PARTITION, "producer": ArgKind.INT, "producer_epoch": ArgKind.INT},
)
def stable_offset_free(args: Args, reader: ClusterReader) -> Answer:
    """The producer's transaction no longer holds the last stable offset of the partition.

    Another open transaction may hold it: that is another finding.
    """
    tp, batch = args.tp(), reader.open_batch(args.tp())
    wanted = f"the last stable offset of {tp} is not held by producer id {args.number('producer')}"
    if batch is None:
        return judge(True, f"the last stable offset of {tp} is the high watermark", wanted)
    observed = f"{tp} is held at {batch.offset} by producer id {batch.producer} epoch {batch.epoch}"
    same = (batch.producer, batch.epoch) == (args.number("producer"), args.number("producer_epoch"))
    return judge(not same, observed, wanted)
