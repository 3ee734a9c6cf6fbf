"""The sizes of the offsets partitions' logs, and whether the log cleaner has compacted them."""

from __future__ import annotations

from typing import NamedTuple

from kfix.core.declared import Int32


class OffsetsLogSize(NamedTuple):
    """One replica of an offsets partition. `size` is in bytes, by DescribeLogDirs of its broker; -1 if it was not read.

    `records` and `keys` are the numbers of records and of distinct keys in a piece of the log, -1 if none was read:
    only the leader's large logs are. `last_ms` is the time of the last of these records, and `behind` are the bytes
    from the first of them to the end of the log, if it is not compacted there. `error` is why the leader's size, or the
    piece of its large log, was not read; "" otherwise.
    """

    partition: Int32
    broker: Int32
    size: int
    records: int = -1
    keys: int = -1
    last_ms: int = -1
    behind: int = -1
    error: str = ""
