"""Producers with acks=all can write: there is a leader, and `min.insync.replicas` of the topic is met."""

from __future__ import annotations

from kfix.model.cluster.reading import PartitionReading, ResourceKind
from kfix.model.numbers import whole_number
from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import Args
from kfix.ports import ClusterReader
from kfix.probes.base import partition_probe
from kfix.probes.words import state_words

KEY = "min.insync.replicas"


def min_isr(reader: ClusterReader, topic: str) -> tuple[int | None, str]:
    """`min.insync.replicas` of the topic as a number, None where it is unknown or no number, and as it is read."""
    found = reader.configs(ResourceKind.TOPIC, topic, (KEY,)).get(KEY)
    text = None if found is None else found.value
    return (None if text is None else whole_number(text)), text or "unknown"


def _rule(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    least, shown = min_isr(reader, args.tp().topic)
    wanted = f"a leader and at least {'an unknown number of' if least is None else least} in sync ({KEY})"
    live = reading.live_isr
    if least is None or live is None or reading.leaderless is None:
        return judge(None, f"{state_words(reading)}, {KEY} {shown}", wanted)
    return judge(not reading.leaderless and len(live) >= least, state_words(reading), wanted)


PROBE = partition_probe(
    "min_isr_satisfied", "there is a leader, and at least min.insync.replicas live replicas are in sync", _rule
)
