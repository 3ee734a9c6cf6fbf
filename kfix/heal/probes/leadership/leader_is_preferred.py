"""The leader is the preferred replica, the first of the assignment, and it is registered."""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.assignments import ids
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.words import state_words


def _rule(_args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    order = () if reading.assignment is None else reading.assignment.replicas
    good = None
    if reading.state is not None and reading.leaderless is not None and order:
        good = not reading.leaderless and reading.state.leader == order[0]
    observed = f"{state_words(reading)}, assignment {ids(order) if order else 'unknown'}"
    return judge(good, observed, "the first replica of the assignment registered and leader")


PROBE = partition_probe("leader_is_preferred", "the leader is the preferred replica and is registered", _rule)
