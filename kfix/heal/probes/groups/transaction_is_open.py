"""The transaction is still open at its coordinator: the same producer id and epoch, and begun at the same time.

The answer is from the log of `__transaction_state`, which brokers of every version serve.
"""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe
from kfix.heal.probes.groups.transactions import TRANSACTION, is_open, read_transaction, state_text


def _ask(args: Args, reader: ClusterReader) -> Answer:
    state = read_transaction(args, reader)
    wanted = f"Ongoing, producer id {args.number('producer')} epoch {args.number('producer_epoch')}"
    return judge(is_open(args, state), state_text(args, state), f"{wanted}, began {args.number('since_ms')}")


PROBE = Probe("transaction_is_open", "the same transaction is still open at its coordinator", _ask, TRANSACTION)
