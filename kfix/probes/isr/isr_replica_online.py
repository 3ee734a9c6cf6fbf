"""Every registered in-sync replica is really there: its broker answers for it.

A broker whose log directory failed stays registered, and Kafka counts its replica as offline: an election through the
API called "unclean" passes it over, and where it was the only one in sync the election is truly unclean. Kafka chooses
among all of them, so all must answer, and not the first alone.
"""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.words import state_words

_WANTED = "every registered member of the ISR tells the end of its log"
#: What a broker answers that does not have the replica, or not in good health. Anything else: nobody knows.
_OFFLINE = frozenset({"KAFKA_STORAGE_ERROR", "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION"})


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading = reader.recorded(args.tp())
    live = reading.live_isr
    if not live:
        return judge(None if live is None else False, state_words(reading), _WANTED)
    ends = reader.log_ends(args.tp(), live)
    errors = {b: "no answer" if (end := ends.get(b)) is None else end.error for b in live}
    bad = {b: error for b, error in errors.items() if error}
    if bad:
        good = False if any(error in _OFFLINE for error in bad.values()) else None
        return judge(good, "; ".join(f"broker {b}: {error}" for b, error in bad.items()), _WANTED)
    told = ", ".join(f"broker {b} ends at {ends[b].end}" for b in live)
    return judge(True, f"{state_words(reading)}; {told}", _WANTED)


PROBE = Probe(
    name="isr_replica_online",
    summary="every registered member of the ISR answers for its replica: none is offline",
    params={"partition": ArgKind.PARTITION},
    ask=ask,
)
