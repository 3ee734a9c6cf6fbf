"""After a cancel the partition can have a leader: one of the original replicas is registered and in sync.

A cancel discards the added copies. Where the leader is one of them, leadership goes to an original replica that is in
sync; where there is none the partition is left without a leader, and with `unclean.leader.election.enable` even
without its only good copy (KAFKA-14424, docs/facts/kraft.md).
"""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.assignments import ids, move_words, moved, original_of, under_way
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.words import state_words

_WANTED = "a replica from before the move registered and in sync"


def _rule(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    now = moved(reading, reader.reassignments().get(args.tp()))
    if now is None or not under_way(now):
        return judge(False, move_words(now), _WANTED)
    if reading.live_isr is None:
        return judge(None, state_words(reading), _WANTED)
    heirs = tuple(b for b in original_of(now) if b in reading.live_isr)
    observed = f"{move_words(now)}; {state_words(reading)}; of the originals alive and in sync: {ids(heirs)}"
    return judge(bool(heirs), observed, _WANTED)


PROBE = partition_probe(
    "cancel_is_safe", "a move is under way, and one of the original replicas is alive and in sync", _rule
)
