"""The broker of every registered in-sync replica answers for that replica.

A broker whose log directory failed stays registered, and Kafka counts its replica as offline. An election through the
API called "unclean" passes over it; if it was the only one in sync, the election is truly unclean. Kafka chooses among
all of them, so all must answer, not only the first.
"""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.words import state_words

_WANTED = "every registered member of the ISR reports its log end offset"
#: The errors of a broker that does not have the replica, or whose replica is offline. Any other error leaves it open.
_OFFLINE = frozenset({"KAFKA_STORAGE_ERROR", "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION"})


def _rule(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    live = reading.live_isr
    if not live:
        return judge(None if live is None else False, state_words(reading), _WANTED)
    ends = reader.log_ends(args.tp(), live)
    errors = {b: "no answer" if (end := ends.get(b)) is None else end.error for b in live}
    bad = {b: error for b, error in errors.items() if error}
    if bad:
        good = False if any(error in _OFFLINE for error in bad.values()) else None
        return judge(good, "; ".join(f"broker {b}: {error}" for b, error in bad.items()), _WANTED)
    shown = ", ".join(f"broker {b} ends at {ends[b].end}" for b in live)
    return judge(True, f"{state_words(reading)}; {shown}", _WANTED)


PROBE = partition_probe(
    "isr_replica_online", "every registered member of the ISR answers for its replica: none is offline", _rule
)
