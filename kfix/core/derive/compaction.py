"""Which logs of the offsets topic the log cleaner should have compacted, and which of them it has not.

A healthy log has the last record of each key, plus the records since its last compaction: the active segment, and
closed segments until they are half of the rest (min.cleanable.dirty.ratio). From three segments on, that is at most 2/3
of it. The thresholds and the trials behind them: docs/adr/021-an-uncompacted-log-by-repeated-keys.md.
"""

from __future__ import annotations

from kfix.core.numbers import whole_number
from kfix.core.snapshot.offsets_size import OffsetsLogSize

#: The broker's default for the offsets topic.
DEFAULT_SEGMENT_BYTES = 104_857_600
SEGMENTS = 3
#: A cleaner that is busy with other topics may take its time.
SECONDS = 3600.0
#: Least number of records per key.
REPEATED = 2
#: The part of a log, from its end, in which a healthy broker may have keys that repeat is at most 2/3 of its bytes. The
#: piece that is read begins at this share of them, which is an estimate, and counts down to the other one.
SAMPLED_SHARE, COUNTED_SHARE = 0.8, 0.7


def segment_bytes_of(text: str) -> int:
    """Returns the value of segment.bytes of the offsets topic, or the default if it was not read."""
    return whole_number(text) or DEFAULT_SEGMENT_BYTES


def should_be_compacted(size: int, segment_bytes: int) -> bool:
    """Returns whether the log has at least two closed segments, so that one was written after the first was closed."""
    return size >= SEGMENTS * segment_bytes


def is_uncompacted(log: OffsetsLogSize, segment_bytes: int, now: float) -> bool:
    """Returns whether keys repeat in a piece of a large log that a cleaner should already have compacted."""
    old = 0 <= log.last_ms <= (now - SECONDS) * 1000
    early = log.behind >= COUNTED_SHARE * log.size
    return should_be_compacted(log.size, segment_bytes) and old and early and log.records >= REPEATED * max(log.keys, 1)
