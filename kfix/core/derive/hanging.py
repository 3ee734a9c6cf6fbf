"""A hanging transaction: open in a partition, although its coordinator has ended it or does not know it.

Only the marker that ends a transaction moves the last stable offset past it, and no coordinator writes it any more: an
unclean election lost it, or a record arrived after the end (docs/facts/consumer-groups.md).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.snapshot.transactions import ENDING, ONGOING, OpenBatch, TransactionLog, TransactionState

COMMIT, ABORT = "commit", "abort"
#: The log of the coordinator does not show the outcome.
UNKNOWN = "unknown"
_DECISIONS = {"PrepareCommit": COMMIT, "PrepareAbort": ABORT}
_TEXT = re.compile(r"(\w+) offset=(\d+) producer=(\d+) epoch=(\d+) since=(-?\d+) id=(\S*)")


@dataclass(frozen=True, slots=True)
class Hanging:
    """`outcome` is what the coordinator decided about this partition: COMMIT, ABORT or UNKNOWN.

    `transactional_id` is "" if the log has no record of the producer. `decided` is the record that shows the outcome,
    and `last` the last record; None if there is none.
    """

    batch: OpenBatch
    outcome: str
    transactional_id: str = ""
    decided: TransactionState | None = None
    last: TransactionState | None = None

    @property
    def belongs(self) -> bool:
        """Whether the partition belonged to the transaction that was decided."""
        return self.decided is not None

    @property
    def text(self) -> str:
        """One line that `parsed` reads, as a fact of a plan."""
        b, name = self.batch, quote(self.transactional_id, safe="")
        return f"{self.outcome} offset={b.offset} producer={b.producer} epoch={b.epoch} since={b.since_ms} id={name}"


def parsed(text: str) -> Hanging:
    """Returns the transaction of such a line, without the records. Raises ValueError for another text."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"no hanging transaction: {text!r}")
    outcome, offset, producer, epoch, since, name = found.groups()
    return Hanging(OpenBatch(int(offset), int(producer), int(epoch), int(since)), outcome, unquote(name))


def hanging(tp: TopicPartition, batch: OpenBatch, log: TransactionLog) -> Hanging | None:
    """Returns the transaction of this batch if no coordinator has it open; None if one has, or if that is unknown.

    The batch must have been open before the log was read, and must be after it: a coordinator writes every partition of
    a transaction to its log before the first record, and its end to every partition before the log.
    """
    mine = [record for record in log.records if record.producer == batch.producer]
    if not mine and log.unread:
        return None
    if not mine:
        return Hanging(batch, UNKNOWN)
    if _open(batch, mine[-1]):
        return None
    name = mine[-1].transactional_id
    decisions = [r for r in mine if r.status in _DECISIONS and r.epoch in (batch.epoch, batch.epoch + 1)]
    covering = [record for record in decisions if tp in record.partitions]
    if not covering:
        outcome = ABORT if batch.producer in log.whole else UNKNOWN
        return Hanging(batch, outcome, name, last=mine[-1])
    return Hanging(batch, _agreed(batch, covering), name, covering[-1], mine[-1])


def _open(batch: OpenBatch, last: TransactionState) -> bool:
    """Returns whether the transaction of the batch may still be open at its coordinator.

    An epoch above that of the batch belongs to a later transaction; the decision about this one may have the next.
    """
    if last.status == ONGOING:
        return last.epoch <= batch.epoch
    return last.status in ENDING and last.epoch <= batch.epoch + 1


def _agreed(batch: OpenBatch, covering: Sequence[TransactionState]) -> str:
    """Returns the outcome if all decisions that cover the partition agree, and the batch was there at a commit.

    Records that came after a commit were never part of it.
    """
    found = {_DECISIONS[record.status] for record in covering}
    if len(found) > 1 or (found == {COMMIT} and batch.since_ms > covering[-1].updated_ms):
        return UNKNOWN
    return found.pop()
