"""The broker has room for so many bytes more, and a fifth of them to spare.

Where a broker does not tell its free space (before 3.3), or where nobody knew the size of what is to come, the answer
is inconclusive: a full disk takes every replica on it offline.
"""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe

_FIFTHS = 6  # 1.2 times, in whole numbers


def ask(args: Args, reader: ClusterReader) -> Answer:
    broker, size = args.number("broker"), args.number("bytes")
    free = reader.log_dirs(broker).free
    observed = f"broker {broker}: {'free space unknown' if free is None else f'{free} bytes free'}"
    if size < 0:
        return judge(None, f"{observed}; the size of what is to come is unknown", "1.2 times an unknown size free")
    needed = size * _FIFTHS // 5
    return judge(None if free is None else free > needed, observed, f"more than {needed} bytes free")


PROBE = Probe(
    name="free_space",
    summary="the broker has 1.2 times so many bytes free",
    params={"broker": ArgKind.BROKER, "bytes": ArgKind.BYTES},
    ask=ask,
)
