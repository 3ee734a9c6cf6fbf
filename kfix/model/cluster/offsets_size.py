"""How large the logs of the offsets partitions are, and whether the log cleaner has compacted them."""

from __future__ import annotations

from typing import NamedTuple


class OffsetsLogSize(NamedTuple):
    """One replica of an offsets partition. `size` is in bytes, by DescribeLogDirs of its broker.

    `records` and `keys` are the numbers of records and of distinct keys in the first bytes of the log, -1 where they
    were not read: of the leader only, and only where the log is large. `last_ms` is the time of the last of them.
    """

    partition: int
    broker: int
    size: int
    records: int = -1
    keys: int = -1
    last_ms: int = -1
