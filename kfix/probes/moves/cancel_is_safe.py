"""After a cancel somebody can lead: one of the replicas from before the move is registered and in sync.

A cancel throws the added copies away. Where the leader is one of them, leadership goes to an original replica that is
in sync; where there is none the partition is left without a leader, and with `unclean.leader.election.enable` even
without its only good copy (KAFKA-14424, kraft-facts 7).
"""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.assignments import ids, move_words, moved, original_of, under_way
from kfix.probes.base import Probe
from kfix.probes.words import state_words

_WANTED = "a replica from before the move registered and in sync"


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading = reader.recorded(args.tp())
    now = moved(reading, reader.reassignments().get(args.tp()))
    if now is None or not under_way(now):
        return judge(False, move_words(now), _WANTED)
    if reading.live_isr is None:
        return judge(None, state_words(reading), _WANTED)
    heirs = tuple(b for b in original_of(now) if b in reading.live_isr)
    observed = f"{move_words(now)}; {state_words(reading)}; of the originals alive and in sync: {ids(heirs)}"
    return judge(bool(heirs), observed, _WANTED)


PROBE = Probe(
    name="cancel_is_safe",
    summary="a move is under way, and one of the original replicas is alive and in sync",
    params={"partition": ArgKind.PARTITION},
    ask=ask,
)
