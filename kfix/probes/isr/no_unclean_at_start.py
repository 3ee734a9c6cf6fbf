"""On KRaft, no broker that registers makes Kafka elect another replica than the one that holds every record.

With `unclean.leader.election.enable` the registration of a broker elects the first live replica of the assignment,
which lacks records, before the broker that was started for its records can lead (docs/facts/kraft.md). On ZooKeeper
such a partition is never left without a leader while a replica is alive.
"""

from __future__ import annotations

from kfix.model.cluster.reading import PartitionReading, ResourceKind
from kfix.model.cluster.snapshot import Mode
from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import Args
from kfix.ports import ClusterReader
from kfix.probes.base import partition_probe

KEY = "unclean.leader.election.enable"
_WANTED = f"{KEY} false: with true, starting the broker elects a replica that lacks records"


def _rule(args: Args, _reading: PartitionReading, reader: ClusterReader) -> Answer:
    if reader.identity().mode is not Mode.KRAFT:
        return judge(True, "a cluster on ZooKeeper", _WANTED)
    found = reader.configs(ResourceKind.TOPIC, args.tp().topic, (KEY,)).get(KEY)
    value = None if found is None else found.value
    good = None if value is None else value.lower() != "true"
    return judge(good, f"topic {args.tp().topic}: {KEY} {value or 'unknown'}", _WANTED)


PROBE = partition_probe(
    "no_unclean_at_start", "on KRaft, the topic does not allow unclean elections, which a start would trigger", _rule
)
