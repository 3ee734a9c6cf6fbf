"""Reads the records of a partition's log piece by piece."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kfix.core.kafka import requests
from kfix.core.kafka.batches import Batch, batches_in
from kfix.core.kafka.codec import ProtocolError
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.records import Record, UnreadBatchError, records, require_readable
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline

#: Most bytes of one response; a broker returns one whole batch even if it is larger.
_PIECE = 1 << 20


class Piece(NamedTuple):
    """The batches from offset `first` to before `end`; both are equal if there was no whole batch.

    `refused` is the error of the broker, or "", and `unread` has a sentence for each batch that cannot be read.
    """

    first: int
    end: int
    high_watermark: int
    refused: str
    unread: tuple[str, ...]

    @property
    def error(self) -> str:
        return self.refused or next(iter(self.unread), "")


def read_pieces(
    line: BrokerConnection,
    tp: TopicPartition,
    first: int,
    until: int,
    add: Callable[[Batch, Iterable[Record]], None],
    deadline: Callable[[], Deadline],
    most_bytes: int | None = None,
    at_once: int = _PIECE,
) -> Iterator[Piece]:
    """Passes each batch from offset `first` to before `until` to `add`, with its records, and yields the pieces.

    Ends early after `most_bytes`, and after a piece without a whole batch. `deadline` returns the deadline of the next
    request. Raises UnreachableError.
    """
    read = 0
    while first < until and (most_bytes is None or read < most_bytes):
        size = at_once if most_bytes is None else min(most_bytes - read, at_once)
        answer = line.call(requests.fetch(tp, first, size), deadline())
        end, unread = first, []
        for batch, raw in batches_in(answer.batches):
            try:
                require_readable(batch)
                add(batch, records(batch, raw))
            except (UnreadBatchError, ProtocolError) as problem:
                unread.append(f"the batch of offsets {batch.base} to {batch.last}: {problem}")
            end = max(end, batch.last + 1)
        refused = name_of(answer.error) if answer.error else ""
        yield Piece(first, end, answer.high_watermark, refused, tuple(unread))
        if end == first:
            return
        first, read = end, read + len(answer.batches)
