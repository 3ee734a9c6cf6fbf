"""Producers with acks=all can write: there is a leader, and `min.insync.replicas` of the topic is met."""

from __future__ import annotations

from collections.abc import Collection

from kfix.core.args import Args
from kfix.core.derive.versions import CAPS_MIN_ISR
from kfix.core.numbers import whole_number
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading, ResourceKind
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.words import state_words

KEY = "min.insync.replicas"


def min_isr(reader: ClusterReader, topic: str, leaders: Collection[int], replicas: int) -> tuple[int | None, str]:
    """`min.insync.replicas` as the strictest of these leaders applies it to so many replicas: as a number, None where
    it is unknown or no number, and as it is read.

    A topic without a value of its own has the default of the broker that leads it, and brokers may differ
    (docs/facts/defaults.md).
    """
    own = reader.configs(ResourceKind.TOPIC, topic, (KEY,)).get(KEY)
    asked = () if own is None or own.own else tuple(leaders)
    defaults = [reader.configs(ResourceKind.BROKER, str(broker), (KEY,)).get(KEY) for broker in asked]
    found = [None if each is None else each.value for each in (defaults or [own])]
    numbers = [None if text is None else whole_number(text) for text in found]
    known = [number for number in numbers if number is not None]
    if len(known) == len(found):
        least = max(known)
        capped = least > replicas and leaders and all(reader.follows(CAPS_MIN_ISR, broker) for broker in leaders)
        return (replicas if capped else least), str(least)
    return None, next(text or "unknown" for text, number in zip(found, numbers, strict=True) if number is None)


def _rule(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    led_by = () if reading.leaderless or reading.state is None else (reading.state.leader,)
    replicas = 0 if reading.assignment is None else len(reading.assignment.replicas)
    least, shown = min_isr(reader, args.tp().topic, led_by if replicas else (), replicas)
    wanted = f"a leader and at least {'an unknown number of' if least is None else least} in sync ({KEY})"
    live = reading.live_isr
    if least is None or live is None or reading.leaderless is None:
        return judge(None, f"{state_words(reading)}, {KEY} {shown}", wanted)
    return judge(not reading.leaderless and len(live) >= least, state_words(reading), wanted)


PROBE = partition_probe(
    "min_isr_satisfied", "there is a leader, and at least min.insync.replicas live replicas are in sync", _rule
)
