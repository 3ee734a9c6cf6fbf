"""The broker has 1.2 times this many bytes free.

The answer is inconclusive where the broker does not report its free space (before Kafka 3.3), or where the size is
unknown: a full disk takes every replica on it offline.
"""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe


def with_reserve(size: int) -> int:
    """1.2 times the size, in whole numbers."""
    return size * 6 // 5


def _ask(args: Args, reader: ClusterReader) -> Answer:
    broker, size = args.number("broker"), args.number("bytes")
    free = reader.log_dirs(broker).free
    observed = f"broker {broker}: {'free space unknown' if free is None else f'{free} bytes free'}"
    if size < 0:
        return judge(None, f"{observed}; the size of the new replica is unknown", "1.2 times an unknown size free")
    needed = with_reserve(size)
    return judge(None if free is None else free > needed, observed, f"more than {needed} bytes free")


PROBE = Probe(
    "free_space",
    "the broker has 1.2 times this many bytes free",
    _ask,
    {"broker": ArgKind.BROKER, "bytes": ArgKind.BYTES},
)
