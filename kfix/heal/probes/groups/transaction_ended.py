"""The coordinator has ended the transaction, and has written the markers of its end to every partition."""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe
from kfix.heal.probes.groups.transactions import TRANSACTION, has_ended, read_transaction, state_text


def _ask(args: Args, reader: ClusterReader) -> Answer:
    state = read_transaction(args, reader)
    return judge(has_ended(args, state), state_text(args, state), "committed or aborted, or a later transaction")


PROBE = Probe("transaction_ended", "the coordinator has ended the transaction", _ask, TRANSACTION)
