"""The broker does not report less than 1.2 times this many bytes free.

Before Kafka 3.3 a broker does not report its free space: then the probe passes and its answer states so, because an
unanswerable question must not block a move forever. `free_space` is the stricter probe. This one fails where the free
space is known and too small, and is inconclusive where the broker does not answer at all.
"""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe
from kfix.heal.probes.brokers.free_space import with_reserve


def _ask(args: Args, reader: ClusterReader) -> Answer:
    broker, needed = args.number("broker"), with_reserve(args.number("bytes"))
    free = reader.log_dirs(broker).free
    wanted = f"more than {needed} bytes free, where the broker reports it"
    if free is None:
        return judge(True, f"broker {broker}: unknown: this version of Kafka does not report it (3.3 does)", wanted)
    return judge(free > needed, f"broker {broker}: {free} bytes free", wanted)


PROBE = Probe(
    "room_for",
    "the broker has 1.2 times this many bytes free, where its version reports free space",
    _ask,
    {"broker": ArgKind.BROKER, "bytes": ArgKind.BYTES},
)
