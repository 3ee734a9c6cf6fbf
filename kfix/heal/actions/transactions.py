"""Ends transactions: an open one by its coordinator, a hanging one by its marker."""

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.derive.hanging import ABORT, COMMIT, UNKNOWN, Hanging, parsed
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.actions.base import Action, ActionStatus, Checks, Kinds, Names, NotApplicable, Preview
from kfix.heal.model.facts import Fact, ReadFact, about, about_transaction
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk
from kfix.heal.probes.base import ON_PARTITION
from kfix.heal.probes.transactions import TRANSACTION, has_ended, is_open, read_transaction

#: Until the markers are in every partition.
_SECONDS = 2.0


class TransactionAbort(Action):
    """Aborts an open transaction, as a restart of its producer does: InitProducerId with its transactional.id.

    The request names the producer id that holds the transaction, and the coordinator refuses it for any other; it
    does not compare the epoch (docs/facts/consumer-groups.md). So a guard reads the log of the coordinator right
    before it: a transaction that has ended is not touched, nor is the next one of a producer that works after all.
    """

    name = "transaction.abort"
    summary = "abort the open transaction of a transactional.id by taking the id over; fences its producer"
    risk = Risk.ONE_PRODUCER
    gate_floor = Gate.STEP
    params: ClassVar[Kinds] = {**TRANSACTION, "timeout_ms": ArgKind.INT}
    irreversible = "cannot be reverted: it stays aborted, and its producer has to send the records again"
    guarded: ClassVar[Mapping[str, Names]] = {"transaction_is_open": tuple(TRANSACTION)}
    proved: ClassVar[Mapping[str, Names]] = {"transaction_ended": tuple(TRANSACTION)}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        name, producer, epoch = args.text("transactional_id"), args.number("producer"), args.number("producer_epoch")
        if not name:
            raise RefusedError(f"the transactional.id of producer id {producer} is unknown, so it cannot be taken over")
        found = read(about_transaction(name, args.number("since_ms"))).value
        seen = f"Ongoing, producer id {producer} epoch {epoch}, began {args.number('since_ms')}"
        if found != seen:
            raise NotApplicable(f"the transaction of {name} is not open any more: {found or 'no record since then'}")
        return args

    def preview(self, args: Args) -> Preview:
        name = args.text("transactional_id")
        return Preview(
            what=f"abort the open transaction of {name}: its records are discarded, and a producer that is still alive "
            "is fenced",
            target=f"transactional.id {name}",
            live=f"producer id {args.number('producer')} epoch {args.number('producer_epoch')}",
            command=f"start the application with transactional.id {name} again: its initTransactions() does the same",
            estimate=Estimate(
                seconds=_SECONDS,
                max_loss="none that was committed: the uncommitted records and offsets of the transaction are "
                "discarded, as they are at its transaction.timeout.ms",
            ),
        )

    def writes(self, args: Args) -> Names:
        return (about_transaction(args.text("transactional_id"), args.number("since_ms")),)

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.abort_transaction(
            args.text("transactional_id"),
            args.number("producer"),
            args.number("producer_epoch"),
            args.number("timeout_ms"),
        )

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        state = read_transaction(args, reader)
        if is_open(args, state):
            return ActionStatus.NOT_STARTED
        ended = has_ended(args, state)
        return ActionStatus.UNKNOWN if ended is None else ActionStatus.DONE if ended else ActionStatus.IN_PROGRESS


#: Of the argument `outcome`: as the log of the coordinator shows it.
BY_LOG = "log"


class TransactionEnd(Action):
    """Ends a hanging transaction in one partition: WriteTxnMarkers with the outcome that its coordinator decided.

    Kafka's own tool only aborts, which hides the records of a transaction that was committed. The leader accepts a
    marker for any producer id and any outcome (docs/facts/consumer-groups.md), so guards read the partition and
    the log of `__transaction_state` right before it, and the last stable offset proves it.
    """

    name = "transaction.end"
    summary = "write the marker that ends a hanging transaction in one partition, with its coordinator's outcome"
    risk = Risk.DATA_LOSS
    gate_floor = Gate.TYPED
    params: ClassVar[Kinds] = {**ON_PARTITION, "outcome": ArgKind.TEXT}
    frozen: ClassVar[Kinds] = {"hanging": ArgKind.TEXT}
    irreversible = "cannot be reverted: consumers read the partition by this marker from now on"
    guarded: ClassVar[Mapping[str, Names]] = {"transaction_hangs": ("partition", "hanging")}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        tp = args.tp()
        value = read(*about(tp, "hanging")).value
        if value is None:
            raise NotApplicable(f"{tp}: no transaction hangs there: none is open, or its coordinator has it open")
        found, outcome = parsed(str(value)), args.text("outcome")
        if found.outcome == UNKNOWN and outcome == BY_LOG:
            raise RefusedError(
                f"{tp}: the log of __transaction_state does not show whether the transaction of {_called(found)} was "
                "committed with this partition",
                hint=f"ask the owner of the application: -p outcome={COMMIT} lets consumers read all of its records in "
                f"this partition, -p outcome={ABORT} hides them for good",
            )
        return args.with_(outcome=outcome if found.outcome == UNKNOWN else found.outcome, hanging=str(value))

    def preview(self, args: Args) -> Preview:
        tp, found, outcome = args.tp(), _found(args), args.text("outcome")
        why = "as you decided" if found.outcome == UNKNOWN else "as its coordinator's log shows"
        effect = "consumers get its records" if outcome == COMMIT else "its records are hidden for good"
        producer, epoch = found.batch.producer, found.batch.epoch
        return Preview(
            what=f"{outcome} the hanging transaction of {_called(found)} in {tp}, {why}: {effect}",
            target=str(tp),
            live=f"{outcome} {producer}",
            command=f"kafka-transactions.sh abort --topic {tp.topic} --partition {tp.partition} "
            f"--producer-id {producer} --producer-epoch {epoch} --coordinator-epoch 0"
            if outcome == ABORT
            else "none: kafka-transactions.sh only aborts",
            estimate=Estimate(seconds=_SECONDS, partitions=1, max_loss=_loss(found, outcome)),
        )

    def writes(self, args: Args) -> Names:
        return about(args.tp(), "hanging")

    def proves(self, args: Args) -> Checks:
        batch, partition = _found(args).batch, args.only("partition")
        producer = partition.with_(producer=batch.producer, producer_epoch=batch.epoch)
        return (
            CheckCall("stable_offset_free", producer),
            CheckCall("read_committed_passes", partition.with_(offset=batch.offset)),
        )

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        found = _found(args)
        commit = args.text("outcome") == COMMIT
        return changer.end_transaction(args.tp(), found.transactional_id, found.batch, commit=commit)

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        batch = reader.open_batch(args.tp())
        return ActionStatus.NOT_STARTED if batch == _found(args).batch else ActionStatus.DONE

    def risk_for(self, args: Args) -> Risk:
        return Risk.DATA_LOSS if _loses(_found(args), args.text("outcome")) else Risk.ONE_PARTITION


def _found(args: Args) -> Hanging:
    return parsed(args.text("hanging"))


def _called(found: Hanging) -> str:
    return found.transactional_id or f"producer id {found.batch.producer}"


def _loses(found: Hanging, outcome: str) -> bool:
    return found.outcome == UNKNOWN and outcome == ABORT


def _loss(found: Hanging, outcome: str) -> str:
    if _loses(found, outcome):
        return "all of its records in this partition, if it was committed after all"
    if outcome == ABORT:
        return "none that was committed: its records were never part of a committed transaction"
    return "none: its records become readable"
