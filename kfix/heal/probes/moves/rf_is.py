"""Every partition of the topic has exactly `rf` replicas, and none is being moved."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.assignments import move_words, under_way
from kfix.heal.probes.base import Probe


def _ask(args: Args, reader: ClusterReader) -> Answer:
    topic, rf = args.text("topic"), args.number("rf")
    wanted = f"every partition of {topic} with {rf} replicas, no move under way"
    found, moves = reader.assignments(topic), reader.reassignments()
    if not found:
        return judge(False, f"{topic} does not exist", wanted)
    now = {tp: a if under_way(a) else moves.get(tp, a) for tp, a in found.items()}
    odd = sorted(tp for tp, a in now.items() if under_way(a) or len(a.replicas) != rf)
    if not odd:
        return judge(True, f"all {len(now)} partitions have {rf} replicas", wanted)
    first: TopicPartition = odd[0]
    return judge(False, f"{len(odd)} of {len(now)} do not; {first}: {move_words(now[first])}", wanted)


PROBE = Probe(
    "rf_is",
    "every partition of the topic has exactly rf replicas",
    _ask,
    {"topic": ArgKind.TOPIC, "rf": ArgKind.INT},
)
