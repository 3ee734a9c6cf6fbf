"""Every partition of the topic has a leader and so many live replicas in sync: so many may be demanded of producers."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.words import state_words


def ask(args: Args, reader: ClusterReader) -> Answer:
    topic, least = args.text("topic"), args.number("n")
    wanted = f"every partition of {topic} with a leader and at least {least} live replicas in sync"
    readings = [reader.recorded(tp) for tp in sorted(reader.assignments(topic))]
    if not readings:
        return judge(False, f"{topic} does not exist", wanted)
    short = [r for r in readings if r.leaderless or (r.live_isr is not None and len(r.live_isr) < least)]
    if short:
        first = f"{short[0].tp}: {state_words(short[0])}"
        return judge(False, f"{len(short)} of {len(readings)} partitions have not; {first}", wanted)
    unknown = [r for r in readings if r.leaderless is None or r.live_isr is None]
    if unknown:
        return judge(None, f"{unknown[0].tp}: {state_words(unknown[0])}", wanted)
    fewest = min(len(r.live_isr or ()) for r in readings)
    return judge(True, f"{len(readings)} partitions, at least {fewest} in sync", wanted)


PROBE = Probe(
    name="topic_isr_at_least",
    summary="every partition of the topic has a leader and at least so many live replicas in sync",
    params={"topic": ArgKind.TOPIC, "n": ArgKind.INT},
    ask=ask,
)
