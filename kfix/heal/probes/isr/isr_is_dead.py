"""There is no leader and no live in-sync replica: only then may a replica outside the ISR be elected.

While one member of the ISR is alive it holds every acknowledged record, and electing another replica would lose some.
On KRaft a broker that runs may be fenced, so that it is not alive by the record: its heartbeats are lost, and it leads
again as soon as they arrive. So no member of the ISR or of the ELR may fetch metadata, or answer at its address. Where
both are empty, the last known leader may not, since Kafka elects it when it registers. An empty ISR without any answer
about the ELR leaves it open who would lead.
"""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import BrokerRegistration, PartitionReading
from kfix.core.snapshot.snapshot import Mode
from kfix.core.wording import ago
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.words import state_words

_WANTED = "no leader and no registered member of the ISR"


def _rule(_args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    live, leaderless = reading.live_isr, reading.leaderless
    if live is None or leaderless is None:
        return judge(None, state_words(reading), _WANTED)
    if live or not leaderless or reader.identity().mode is not Mode.KRAFT:
        return judge(leaderless and not live, state_words(reading), _WANTED)
    eligible = reading.eligible
    if not reading.isr and eligible is None:
        return judge(None, f"{state_words(reading)}, and who may lead is unknown", _WANTED)
    holders = () if eligible is None else eligible.replicas or eligible.last_known
    for broker in dict.fromkeys((*(reading.isr or ()), *holders)):
        why = _why_it_runs(broker, reader.registration(broker))
        if why:
            return judge(False, f"{why}; {state_words(reading)}", f"{_WANTED}, and none that runs")
    return judge(True, state_words(reading), _WANTED)


def _why_it_runs(broker: int, found: BrokerRegistration) -> str:
    """Returns what shows that the process of a broker runs although it is not alive by the record, "" for nothing."""
    if found.answers:
        return f"broker {broker} runs, although it is fenced: its address answers"
    if found.fetched is not None and found.fetches:
        return f"broker {broker} runs, although it is fenced: it fetched metadata {ago(found.fetched)} ago"
    return ""


PROBE = partition_probe(
    "isr_is_dead",
    "there is no leader, and no member of the ISR is registered or, on KRaft, runs",
    _rule,
    facts=("leader", "isr", "live_isr"),
)
