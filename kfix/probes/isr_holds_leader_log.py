"""What ZooKeeper calls the leader holds the whole log of the leader that the brokers follow.

Where the two differ, both remedies make ZooKeeper's leader the real one and everybody else truncates to it: its log
must reach as far as the log of the leader that takes the records now. Log ends of a busy partition move between two
reads, so the one that is to win is read last and again: a follower that caught up with where the leader *was* holds it
all.
"""

from __future__ import annotations

from kfix.errors import UnreachableError
from kfix.model.args import Args, Kind
from kfix.model.facts import about
from kfix.model.reading import PartitionReading
from kfix.model.snapshot import NO_LEADER, LogEnd, TopicPartition
from kfix.model.verdict import Answer, Verdict, judge
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.words import state_words

_REREADS = 5
_WANTED = "the log of ZooKeeper's leader reaches the end of the followed leader's log"


def ask(args: Args, reader: ClusterReader) -> Answer:
    tp = args.tp()
    reading = reader.partition(tp)
    believed = _believed_leaders(reading)
    if reading.state is None or reading.registered is None or not believed:
        return Answer(Verdict.INCONCLUSIVE, state_words(reading), _WANTED)
    heir = reading.state.leader
    if heir == NO_LEADER or heir not in reading.registered:
        return judge(False, f"ZooKeeper's leader {heir} is not registered", _WANTED)
    for leader in sorted(believed - {heir}):
        answer = _reaches(reader, tp, heir, leader)
        if not answer.passed:
            return answer
    return judge(True, f"broker {heir} holds what {sorted(believed)} hold", _WANTED)


def _believed_leaders(reading: PartitionReading) -> set[int]:
    return {v.leader for v in reading.views.values() if v.leader != NO_LEADER}


def _reaches(reader: ClusterReader, tp: TopicPartition, heir: int, leader: int) -> Answer:
    """The leader's end is read once, the heir's up to a few times after it: a lagging fetch is no missing record."""
    goal = _end(reader, tp, leader)
    seen = _end(reader, tp, heir)
    for _ in range(_REREADS):
        if goal is None or seen is None or seen.end >= goal.end:
            break
        seen = _end(reader, tp, heir)
    if goal is None or seen is None:
        return Answer(
            Verdict.INCONCLUSIVE, f"the log end of broker {leader if goal is None else heir} is unknown", _WANTED
        )
    return judge(seen.end >= goal.end, f"broker {heir} ends at {seen.end}, broker {leader} at {goal.end}", _WANTED)


def _end(reader: ClusterReader, tp: TopicPartition, broker: int) -> LogEnd | None:
    try:
        found = reader.log_ends(tp, (broker,)).get(broker)
    except UnreachableError:
        return None
    return None if found is None or found.error else found


def reads(args: Args) -> tuple[str, ...]:
    return about(args.tp(), "leader", "leader_epoch", "isr")


PROBE = Probe(
    name="isr_holds_leader_log",
    summary="ZooKeeper's leader holds the whole log of the leader that brokers follow",
    params={"partition": Kind.PARTITION},
    reads=reads,
    ask=ask,
)
