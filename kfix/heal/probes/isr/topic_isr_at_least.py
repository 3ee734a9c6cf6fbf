"""Every partition of the topic has a leader and n live replicas in sync: min.insync.replicas may be set to n."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe
from kfix.heal.probes.words import state_words


def _ask(args: Args, reader: ClusterReader) -> Answer:
    topic, least = args.text("topic"), args.number("n")
    wanted = f"every partition of {topic} with a leader and at least {least} live replicas in sync"
    readings = [reader.recorded(tp) for tp in sorted(reader.assignments(topic))]
    if not readings:
        return judge(False, f"{topic} does not exist", wanted)
    short = [r for r in readings if r.leaderless or (r.live_isr is not None and len(r.live_isr) < least)]
    if short:
        first = f"{short[0].tp}: {state_words(short[0])}"
        return judge(False, f"{len(short)} of {len(readings)} partitions do not; {first}", wanted)
    unknown = [r for r in readings if r.leaderless is None or r.live_isr is None]
    if unknown:
        return judge(None, f"{unknown[0].tp}: {state_words(unknown[0])}", wanted)
    fewest = min(len(r.live_isr or ()) for r in readings)
    return judge(True, f"{len(readings)} partitions, at least {fewest} in sync", wanted)


PROBE = Probe(
    "topic_isr_at_least",
    "every partition of the topic has a leader and at least n live replicas in sync",
    _ask,
    {"topic": ArgKind.TOPIC, "n": ArgKind.INT},
)
