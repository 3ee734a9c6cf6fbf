"""On KRaft, every partition of the topic has a leader that is alive: then unclean elections may be allowed.

With `unclean.leader.election.enable` the controller elects a live replica of each partition without a leader, whatever
it lacks, every five minutes and when a broker registers (docs/facts/kraft.md). With ZooKeeper it does so at once, which
is what a person asks for who sets it there.
"""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import Mode
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe
from kfix.heal.probes.words import state_words

_WANTED = "a leader: without one, Kafka would elect a replica that may lack records"


def _ask(args: Args, reader: ClusterReader) -> Answer:
    if reader.identity().mode is not Mode.KRAFT:
        return judge(True, "a cluster on ZooKeeper", _WANTED)
    topic = args.text("topic")
    tps = sorted(reader.assignments(topic)) if topic else []
    readings = [reader.recorded(tp) for tp in tps] if topic else list(reader.every_partition().values())
    bad = [each for each in readings if each.leaderless]
    if bad:
        observed = f"{len(bad)} of {len(readings)} partitions have none; {bad[0].tp}: {state_words(bad[0])}"
        return judge(False, observed, _WANTED)
    unknown = [each for each in readings if each.leaderless is None]
    if unknown or not readings:
        observed = f"{unknown[0].tp}: {state_words(unknown[0])}" if unknown else "there is no partition"
        return judge(None, observed, _WANTED)
    return judge(True, f"all {len(readings)} partitions have one", _WANTED)


PROBE = Probe(
    "every_partition_led",
    "on KRaft, every partition of the topic (of any with an empty name) has a leader, so unclean elections elect none",
    _ask,
    {"topic": ArgKind.TEXT},
)
