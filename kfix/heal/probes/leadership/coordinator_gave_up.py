"""The leader of an offsets partition refuses its groups although every broker names it as their coordinator.

Only the coordinator of Kafka 4 gives a whole partition up. Shortly after a leader has moved, it answers the same; the
finding of this runbook has seen it in two snapshots.
"""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import ON_PARTITION, Probe
from kfix.heal.probes.leadership import coordinator_answers

_NOT_COORDINATOR = 16


def _ask(args: Args, reader: ClusterReader) -> Answer:
    found = reader.probe_group(args.text("group"))
    wanted = "FindCoordinator names the leader, and it answers OffsetFetch with NOT_COORDINATOR (16)"
    if found.partition != args.tp().partition:
        there = TopicPartition(args.tp().topic, found.partition)
        return judge(None, f"group {found.group} is now on {there}", wanted)
    state = reader.recorded(args.tp()).state
    observed = f"FindCoordinator {found.find_error}, OffsetFetch {found.fetch_error}"
    if state is None or found.fetch_error in {None, -1}:
        return judge(None, observed, wanted)
    same = (found.find_error, found.fetch_error, found.coordinator) == (0, _NOT_COORDINATOR, state.leader)
    return judge(same, observed, wanted)


PROBE = Probe(
    "coordinator_gave_up",
    "the leader of the offsets partition refuses its groups, although it is their coordinator",
    _ask,
    ON_PARTITION,
    {"group": ArgKind.TEXT},
    freeze=coordinator_answers.freeze,
)
