"""Why one failure hits partitions, as far as an operator can prevent it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.coordinator import INTERNAL_TOPICS
from kfix.core.derive.partition_facts import ADVISED_RF
from kfix.core.diagnosis.forecast import Failure, Fate, LatentRisk, LatentRiskKind, PartitionForecast
from kfix.core.failures.scenarios import racks_of

_LOST = {Fate.STOPS, Fate.UNCLEAN}


def risks_of(case: CaseFile, failure: Failure, partitions: Sequence[PartitionForecast]) -> tuple[LatentRisk, ...]:
    """Returns the reasons, those with the safest remedies first."""
    return tuple(_risks(case, failure, partitions))


def _risks(case: CaseFile, failure: Failure, partitions: Sequence[PartitionForecast]) -> Iterator[LatentRisk]:
    yield from _risk(LatentRiskKind.DIVERGED, [p for p in partitions if p.fate is Fate.STRANDED])
    hit = [p for p in partitions if p.fate in _LOST or p.falls_under or p.left_with_last]
    yield from _out_of_sync(failure, hit)
    # An out-of-sync replica helps once it is in sync; a partition without such a replica needs another one.
    lost = [p for p in hit if p.fate in _LOST and failure.brokers.issuperset(p.replicas)]
    packed = [p for p in lost if len(p.replicas) > 1 and _spreadable(case, p)]
    for topic in sorted({p.tp.topic for p in packed}):
        yield from _risk(LatentRiskKind.ONE_RACK, [p for p in packed if p.tp.topic == topic], topic)
    yield from _few_replicas(case, failure, [p for p in lost if p not in packed])
    yield from _risk(LatentRiskKind.MIN_ISR_IS_RF, [p for p in hit if p.falls_under and p.min_isr == len(p.replicas)])
    yield from _risk(LatentRiskKind.UNCLEAN, [p for p in hit if p.fate is Fate.UNCLEAN])


def _risk(kind: LatentRiskKind, partitions: Sequence[PartitionForecast], topic: str = "") -> Iterator[LatentRisk]:
    if partitions:
        yield LatentRisk(kind, len(partitions), partitions[0].tp, topic)


def _out_of_sync(failure: Failure, hit: Sequence[PartitionForecast]) -> Iterator[LatentRisk]:
    waiting = {p.tp: set(p.replicas) - set(p.isr_before) - failure.brokers for p in hit}
    found = {tp: brokers for tp, brokers in waiting.items() if brokers}
    if found:
        brokers = tuple(sorted({broker for each in found.values() for broker in each}))
        yield LatentRisk(LatentRiskKind.OUT_OF_SYNC, len(found), next(iter(found)), brokers=brokers)


def _spreadable(case: CaseFile, partition: PartitionForecast) -> bool:
    racks = {case.racks.get(broker) for broker in partition.replicas}
    return len(racks) == 1 and None not in racks and len(racks_of(case)) > 1


def _few_replicas(case: CaseFile, failure: Failure, lost: Sequence[PartitionForecast]) -> Iterator[LatentRisk]:
    """Yields topics whose partitions would survive with as many replicas as are advised; internal topics first."""
    factor = min(ADVISED_RF, len(case.live or ()))
    if factor <= len(failure.brokers) and len(racks_of(case)) <= len(failure.racks):
        return
    few = [p for p in lost if len(p.replicas) < factor]
    for topic in sorted({p.tp.topic for p in few}, key=lambda topic: (topic not in INTERNAL_TOPICS, topic)):
        found = [p for p in few if p.tp.topic == topic]
        least = min(len(p.replicas) for p in found)
        yield LatentRisk(LatentRiskKind.FEW_REPLICAS, len(found), found[0].tp, topic, replicas=least, factor=factor)
