"""Aborts an open transaction, as a restart of its producer does: InitProducerId with its transactional.id.

The request names the producer id that holds the transaction, and the coordinator refuses it for any other; it does not
compare the epoch (docs/facts/consumer-groups.md). So a guard reads the log of the coordinator right before it: a
transaction that has ended is not touched, nor is the next one of a producer that works after all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.actions.base import Action, ActionStatus, Checks, Inverse, Kinds, Names, NotApplicable, Preview
from kfix.heal.model.facts import Fact, ReadFact, about_transaction
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk
from kfix.heal.probes.transactions import TRANSACTION, has_ended, is_open, read_transaction

#: Until the markers are in every partition.
_SECONDS = 2.0


class TransactionAbort(Action):
    name = "transaction.abort"
    summary = "abort the open transaction of a transactional.id by taking the id over; fences its producer"
    risk = Risk.ONE_PRODUCER
    gate_floor = Gate.STEP
    params: ClassVar[Kinds] = {**TRANSACTION, "timeout_ms": ArgKind.INT}

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

    def inverse(self, _args: Args) -> Inverse:
        return Inverse(False, "cannot be reverted: it stays aborted, and its producer has to send the records again")

    def reads(self, args: Args) -> Names:
        return self.writes(args)

    def writes(self, args: Args) -> Names:
        return (about_transaction(args.text("transactional_id"), args.number("since_ms")),)

    def guards(self, args: Args) -> Checks:
        return (CheckCall("transaction_is_open", args.only(*TRANSACTION)),)

    def proves(self, args: Args) -> Checks:
        return (CheckCall("transaction_ended", args.only(*TRANSACTION)),)

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.abort_transaction(
            args.text("transactional_id"),
            args.number("producer"),
            args.number("producer_epoch"),
            args.number("timeout_ms"),
        )

    def probe(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        try:
            state = read_transaction(args, reader)
        except UnreachableError:
            return ActionStatus.UNKNOWN
        if is_open(args, state):
            return ActionStatus.NOT_STARTED
        ended = has_ended(args, state)
        return ActionStatus.UNKNOWN if ended is None else ActionStatus.DONE if ended else ActionStatus.IN_PROGRESS
