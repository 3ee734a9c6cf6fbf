"""Every replica of every partition of the topic is alive and in sync."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe
from kfix.heal.probes.words import state_words


def _ask(args: Args, reader: ClusterReader) -> Answer:
    topic = args.text("topic")
    wanted = f"every replica of {topic} alive and in sync"
    assigned = reader.assignments(topic)
    readings = [reader.recorded(tp) for tp in sorted(assigned)]
    if not readings:
        return judge(False, f"{topic} does not exist", wanted)
    unknown = [r for r in readings if r.live_isr is None or r.assignment is None]
    if unknown:
        return judge(None, f"{unknown[0].tp}: {state_words(unknown[0])}", wanted)
    short = [r for r in readings if r.assignment is not None and set(r.live_isr or ()) != set(r.assignment.replicas)]
    if short:
        text = f"{len(short)} of {len(readings)} partitions have a replica that is dead or out of sync; {short[0].tp}: "
        return judge(False, text + state_words(short[0]), wanted)
    return judge(True, f"{len(readings)} partitions, each with all replicas in sync", wanted)


PROBE = Probe(
    "topic_in_sync",
    "every replica of every partition of the topic is alive and in sync",
    _ask,
    {"topic": ArgKind.TOPIC},
)
