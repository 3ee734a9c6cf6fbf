"""Every replica is in sync and its broker compacts the partition, by the settings that brokers show.

A replica that is behind may never receive a record that deletes a key, if the others compact it away first. Whether the
threads of the log cleaner are alive is not shown by any setting.
"""

from __future__ import annotations

from kfix.model.cluster.reading import PartitionReading, ResourceKind
from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import Args
from kfix.ports import ClusterReader
from kfix.probes.assignments import ids
from kfix.probes.base import partition_probe
from kfix.probes.words import gaps

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
    policy = reader.configs(ResourceKind.TOPIC, args.tp().topic, (POLICY,)).get(POLICY)
    if policy is None or policy.value is None:
        return judge(None, f"{POLICY} is unknown", _WANTED)
    if "compact" not in policy.value.split(","):
        return judge(False, f"{POLICY} is {policy.value}", _WANTED)
    for broker in assigned.replicas:
        cleaner = reader.configs(ResourceKind.BROKER, str(broker), (CLEANER,)).get(CLEANER)
        if cleaner is not None and cleaner.value == "false":
            return judge(False, f"broker {broker} has {CLEANER}=false: it compacts no log", _WANTED)
        if cleaner is None or cleaner.value is None:
            return judge(None, f"{CLEANER} of broker {broker} is unknown", _WANTED)
    return judge(True, f"{ids(assigned.replicas)} in sync, {CLEANER} true, {POLICY} {policy.value}", _WANTED)


PROBE = partition_probe(
    "compaction_possible", "every replica is alive and in sync, and its broker has a log cleaner", _rule
)
