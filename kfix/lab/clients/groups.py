"""Names of consumer groups that hash to a chosen partition of the offsets topic."""

from __future__ import annotations

from itertools import count

from kfix.core.derive.coordinator import partition_of_group

STEMS = ("payments", "orders", "billing", "shipping", "search", "fraud", "mail", "reports")
NOT_LEADER, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, UNSTABLE_OFFSET_COMMIT = 6, 15, 16, 88


def name_for(partition: int, partitions: int, stem: str) -> str:
    """Returns the first of `payments`, `payments-1-readers`, `payments-2-readers`, ... that hashes to that partition.

    Java's hash of a string is a number to the base 31: a counter at the end alone reaches only a few residues of 31, so
    that a topic of 31 or 62 partitions would not be filled. A number followed by a word overflows the 32 bits.
    """
    if partition_of_group(stem, partitions) == partition:
        return stem
    return next(name for n in count(1) if partition_of_group(name := f"{stem}-{n}-readers", partitions) == partition)
