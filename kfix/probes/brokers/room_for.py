"""The broker does not say that its disks have no room for so many bytes, and a fifth of them to spare.

Before Kafka 3.3 a broker does not tell its free space: then there is nothing to be asked, which the answer says, and a
move is not held up for ever by a question without an answer. `free_space` is the stricter one. It fails where the room
is known and too small, and is inconclusive where the broker does not answer at all.
"""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe

_FIFTHS = 6  # 1.2 times, in whole numbers


def ask(args: Args, reader: ClusterReader) -> Answer:
    broker, needed = args.number("broker"), args.number("bytes") * _FIFTHS // 5
    free = reader.log_dirs(broker).free
    wanted = f"more than {needed} bytes free, where the broker tells"
    if free is None:
        return judge(True, f"broker {broker}: unknown: this version of Kafka does not tell (3.3 and later do)", wanted)
    return judge(free > needed, f"broker {broker}: {free} bytes free", wanted)


PROBE = Probe(
    name="room_for",
    summary="the broker has 1.2 times so many bytes free, where its version tells that at all",
    params={"broker": ArgKind.BROKER, "bytes": ArgKind.BYTES},
    ask=ask,
)
