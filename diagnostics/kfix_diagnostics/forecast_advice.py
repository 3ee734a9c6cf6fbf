"""What would lessen the risk of one failure: only what is true of the partitions that it hits."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from kfix.derive.casefile import CaseFile
from kfix.derive.coordinator import INTERNAL_TOPICS
from kfix.derive.failures.scenarios import racks_of
from kfix.derive.partition_facts import ADVISED_RF
from kfix.model.diagnosis.finding import Remedy
from kfix.model.diagnosis.forecast import Failure, Fate, PartitionForecast
from kfix.wording import brokers_named, several

#: Topics with a command of their own; the others are in the text.
_MOST_COMMANDS: Final = 3
_LOST = {Fate.STOPS, Fate.UNCLEAN}


def advice_of(case: CaseFile, failure: Failure, partitions: Sequence[PartitionForecast]) -> tuple[Remedy, ...]:
    return tuple(_advice(case, failure, partitions))


def _advice(case: CaseFile, failure: Failure, partitions: Sequence[PartitionForecast]) -> Iterator[Remedy]:
    yield from _stranded(case, [p for p in partitions if p.fate is Fate.STRANDED])
    hit = [p for p in partitions if p.fate in _LOST or p.falls_under or p.left_with_last]
    yield from _out_of_sync(case, failure, hit)
    # A replica that is out of sync helps once it is in sync; what has no such replica needs another one.
    lost = [p for p in hit if p.fate in _LOST and failure.brokers.issuperset(p.replicas)]
    packed = [p for p in lost if len(p.replicas) > 1 and _spreadable(case, p)]
    yield from _spread(case, packed)
    yield from _more_replicas(case, failure, [p for p in lost if p not in packed])
    equal = [p for p in hit if p.falls_under and p.min_isr == len(p.replicas)]
    if equal:
        yield Remedy(
            f"min.insync.replicas is equal to the replication factor in {several(len(equal), 'partition')}: the loss "
            "of any replica stops acks=all producers there",
            "kfix explain KFX603",
        )
    if any(p.fate is Fate.UNCLEAN for p in hit):
        yield Remedy("Disable unclean elections where records matter more than availability", "kfix explain KFX604")


def _stranded(case: CaseFile, stranded: Sequence[PartitionForecast]) -> Iterator[Remedy]:
    if not stranded:
        return
    text = (
        f"ZooKeeper's record of {several(len(stranded), 'partition')} differs from the controller's memory: have the "
        "controller read the record again while all replicas are alive"
    )
    if len(stranded) == 1:
        key = shlex.quote(f"KFX201:{stranded[0].tp}")
        yield Remedy(text, f"kfix runbook plan metadata-divergence --finding {key} {_at(case)}", "metadata-divergence")
    else:
        yield Remedy(text, f"kfix diagnose --only KFX201 {_at(case)}")


def _out_of_sync(case: CaseFile, failure: Failure, hit: Sequence[PartitionForecast]) -> Iterator[Remedy]:
    """Yields replicas that would survive the failure and are not in sync today."""
    waiting = {p.tp: set(p.replicas) - set(p.isr_before) - failure.brokers for p in hit}
    found = {tp: brokers for tp, brokers in waiting.items() if brokers}
    if found:
        brokers = brokers_named(b for each in found.values() for b in each)
        yield Remedy(
            f"{several(len(found), 'partition')} of these {'has' if len(found) == 1 else 'have'} replicas on {brokers} "
            "that would survive and are not in sync today: bring them back into the ISR first",
            f"kfix diagnose {_at(case)}",
        )


def _spreadable(case: CaseFile, partition: PartitionForecast) -> bool:
    racks = {case.racks.get(broker) for broker in partition.replicas}
    return len(racks) == 1 and None not in racks and len(racks_of(case)) > 1


def _spread(case: CaseFile, packed: Sequence[PartitionForecast]) -> Iterator[Remedy]:
    topics = sorted({p.tp.topic for p in packed})
    for topic in () if case.kraft else topics[:_MOST_COMMANDS]:
        yield Remedy(
            f"All replicas of partitions of {topic} are in one rack: spread them over the racks{_more(topics, topic)}",
            f"kfix runbook plan spread-replicas -p {shlex.quote(f'topic={topic}')} {_at(case)}",
            "spread-replicas",
        )


def _more_replicas(case: CaseFile, failure: Failure, lost: Sequence[PartitionForecast]) -> Iterator[Remedy]:
    """Yields topics whose partitions would survive with as many replicas as are advised."""
    factor = min(ADVISED_RF, len(case.live or ()))
    few = [p for p in lost if len(p.replicas) < factor]
    if factor <= len(failure.brokers) and len(racks_of(case)) <= len(failure.racks):
        return
    topics = sorted({p.tp.topic for p in few}, key=lambda topic: (topic not in INTERNAL_TOPICS, topic))
    for topic in () if case.kraft else topics[:_MOST_COMMANDS]:
        least = min(len(p.replicas) for p in few if p.tp.topic == topic)
        name = "raise-offsets-rf" if topic in INTERNAL_TOPICS else "raise-topic-rf"
        yield Remedy(
            f"{topic} has partitions with {several(least, 'replica')}: raise its replication factor to "
            f"{factor}{_more(topics, topic)}",
            f"kfix runbook plan {name} -p {shlex.quote(f'topic={topic}')} -p rf={factor} {_at(case)}",
            name,
        )


def _more(topics: Sequence[str], topic: str) -> str:
    rest = len(topics) - _MOST_COMMANDS
    return f"; so do {several(rest, 'more topic')}" if rest > 0 and topic == topics[_MOST_COMMANDS - 1] else ""


def _at(case: CaseFile) -> str:
    return f"--bootstrap-server {shlex.quote(case.bootstrap) if case.bootstrap else 'HOST:PORT'}"
