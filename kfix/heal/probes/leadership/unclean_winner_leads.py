"""The broker that an unclean election was to elect leads the partition.

If it died between the last reading and the election, Kafka elected the next live replica, which may lack records that
the plan counted as kept: the stated loss is then not the loss that happened. Kafka has no election that names its
winner (docs/facts/controller.md), so this is found out afterwards, and the answer says how the records can still be
saved. If it is a member of the ISR that came back in that moment, nothing is lost.
"""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.core.snapshot.snapshot import NO_LEADER
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.words import saving_words, state_words


def _rule(args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    winner, words = args.number("broker"), state_words(reading)
    wanted = f"broker {winner} registered and leader"
    if reading.state is None or reading.leaderless is None:
        return judge(None, words, wanted)
    leader = reading.state.leader
    if leader in {winner, NO_LEADER}:
        return judge(leader == winner and not reading.leaderless, words, wanted)
    other = f"Kafka elected {leader} instead of {winner}: unless {leader} was in sync, more may be lost than planned"
    return judge(False, f"{words}; {other}: {saving_words((winner,))}", wanted)


PROBE = partition_probe(
    "unclean_winner_leads",
    "the broker that an unclean election was to elect leads, so the stated loss is the one that happened",
    _rule,
    broker=ArgKind.BROKER,
)
