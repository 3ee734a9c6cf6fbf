"""Every replica is in sync and its broker compacts the partition, by the settings that brokers show.

A replica that is behind may never receive a record that deletes a key, if the others compact it away first. Whether the
threads of the log cleaner are alive is not shown by any setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading, ResourceKind
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.assignments import ids
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.words import gaps

CLEANER, POLICY = "log.cleaner.enable", "cleanup.policy"
_WANTED = f"every replica alive and in sync, {CLEANER} true, and {POLICY} compact"


def _rule(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    live, assigned = reading.live_isr, reading.assignment
    if live is None or assigned is None:
        return judge(None, gaps(reading, "state or assignment unknown"), _WANTED)
    out = tuple(b for b in assigned.replicas if b not in live)
    if out:
        text = f"{ids(out)} of {ids(assigned.replicas)} not alive or not in sync: {args.tp()} cannot be compacted there"
        return judge(False, text, _WANTED)
    for kind, name, key, good in _settings(args.tp().topic, assigned.replicas):
        found = reader.configs(kind, name, (key,)).get(key)
        if found is None or found.value is None:
            return judge(None, f"{key} of {kind} {name} is unknown", _WANTED)
        if good not in found.value.split(","):
            return judge(False, f"{kind} {name} has {key}={found.value}: it compacts no log", _WANTED)
    return judge(True, f"{ids(assigned.replicas)} in sync, each with a log cleaner", _WANTED)


def _settings(topic: str, replicas: Iterable[int]) -> Iterator[tuple[ResourceKind, str, str, str]]:
    """Yields (kind, name, key, the value that compaction needs)."""
    yield ResourceKind.TOPIC, topic, POLICY, "compact"
    for broker in replicas:
        yield ResourceKind.BROKER, str(broker), CLEANER, "true"


PROBE = partition_probe(
    "compaction_possible", "every replica is alive and in sync, and its broker has a log cleaner", _rule
)
