"""Consumers with read_committed are not held up: the last stable offset is the high watermark.

After an unclean election a transaction may hang forever, because its end was in the lost part of the log
(KAFKA-20716). A running transaction looks the same for a while, so ask again.
"""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import ON_PARTITION, Probe


def _ask(args: Args, reader: ClusterReader) -> Answer:
    end = reader.stable_end(args.tp())
    observed = f"last stable offset {end.stable}, high watermark {end.high_watermark}"
    if end.stable < end.high_watermark:
        observed += f": a transaction is open from offset {end.stable} on"
    # The two are read one after the other: on a busy partition the later one may be ahead.
    return judge(end.stable >= end.high_watermark, observed, "last stable offset = high watermark")


PROBE = Probe(
    "no_open_transactions",
    "no transaction is open: consumers with read_committed get every record",
    _ask,
    ON_PARTITION,
)
