"""The producer's transaction no longer holds the last stable offset of the partition.

Another open transaction may hold it: that is another finding.
"""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import ON_PARTITION, Probe

_PARAMS: Mapping[str, ArgKind] = {**ON_PARTITION, "producer": ArgKind.INT, "producer_epoch": ArgKind.INT}


def _ask(args: Args, reader: ClusterReader) -> Answer:
    tp, batch = args.tp(), reader.open_batch(args.tp())
    wanted = f"the last stable offset of {tp} is not held by producer id {args.number('producer')}"
    if batch is None:
        return judge(True, f"the last stable offset of {tp} is the high watermark", wanted)
    observed = f"{tp} is held at {batch.offset} by producer id {batch.producer} epoch {batch.epoch}"
    same = (batch.producer, batch.epoch) == (args.number("producer"), args.number("producer_epoch"))
    return judge(not same, observed, wanted)


PROBE = Probe("stable_offset_free", "the transaction no longer holds the last stable offset", _ask, _PARAMS)
