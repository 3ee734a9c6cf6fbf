"""On KRaft, no broker that registers makes Kafka elect another replica than the one that holds every record.

With `unclean.leader.election.enable` the controller elects the first live replica of the assignment, which may lack
records: every five minutes, when a broker registers, and where the ISR is empty also before the broker that was started
for its records can lead (docs/facts/kraft.md). The active controller's setting counts, not the brokers'; where it did
not report it, the answer is unknown. Where every replica is in the ISR, whoever starts has every record. On ZooKeeper
such a partition is never left without a leader while a replica is alive.
"""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.derive.elections import UNCLEAN
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading, ResourceKind
from kfix.core.snapshot.snapshot import Mode
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import partition_probe

KEY = UNCLEAN
_WANTED = f"{KEY} false: with true, Kafka may elect a replica that lacks records"


def _rule(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    if reader.identity().mode is not Mode.KRAFT:
        return judge(True, "a cluster on ZooKeeper", _WANTED)
    isr, assigned = reading.isr, reading.assignment
    if isr and assigned is not None and set(isr) >= set(assigned.replicas):
        return judge(True, f"every replica is in the ISR {list(isr)}", _WANTED)
    if assigned is not None and len(assigned.replicas) == 1:
        return judge(True, f"broker {assigned.replicas[0]} has the only replica", _WANTED)
    found = reader.configs(ResourceKind.TOPIC, args.tp().topic, (KEY,)).get(KEY)
    value = None if found is None else found.value
    good = None if value is None else value.lower() != "true"
    return judge(good, f"topic {args.tp().topic}: {KEY} {value or 'unknown'}", _WANTED)


PROBE = partition_probe(
    "no_unclean_at_start", "on KRaft, the topic does not allow unclean elections, which a start would trigger", _rule
)
