"""Judges failures of brokers: partitions by `rules`, then groups, controller and ZooKeeper."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property

from kfix.core.derive.addressing import cluster_options
from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.coordinator import INTERNAL_TOPICS, OFFSETS_TOPIC, SHARE_TOPIC, TRANSACTIONS_TOPIC
from kfix.core.derive.partition_facts import ADVISED_RF
from kfix.core.diagnosis.forecast import (
    Failure,
    FailureForecast,
    Fate,
    Forecast,
    LatentRisk,
    LatentRiskKind,
    PartitionForecast,
)
from kfix.core.failures.masks import ClusterMasks, masks_of
from kfix.core.failures.rules import NO, NONE, UNREAD, YES, AfterFailure, PartitionMasks, after_failure
from kfix.core.failures.scenarios import controllers_in, live_of, quorum_lost, racks_of, unknown_of
from kfix.core.snapshot.snapshot import NO_LEADER, TopicPartition
from kfix.core.wording import several

# Why one failure hits partitions, as far as an operator can prevent it.

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


def forecast(case: CaseFile, failures: Sequence[Failure], *, named: bool = False) -> Forecast:
    """Returns the failures judged, worst first. With `named` each lists the partitions that it changes.

    Raises UnreachableError if no source shows which brokers are alive.
    """
    judge = Judge(case)
    judged = [judge.judge(failure, named=named) for failure in failures]
    masks = judge.masks
    counted = [tp for tps in masks.rows.values() for tp in tps]
    return Forecast(
        cluster=case.snapshot.cluster.name,
        options=cluster_options(case),
        taken_at=case.taken_at,
        brokers=tuple(sorted(masks.live)),
        partitions=len(counted) + len(masks.unjudged),
        topics=len({tp.topic for tp in (*counted, *masks.unjudged)}),
        groups_known=case.snapshot.groups_complete,
        failures=tuple(sorted(judged, key=lambda f: f.rank, reverse=True)),
        unknown=(*unknown_of(case), *_unjudged(masks)),
        kraft=case.kraft,
    )


def _unjudged(masks: ClusterMasks) -> Iterator[str]:
    if masks.unjudged:
        count = several(len(masks.unjudged), "partition")
        yield f"{count} without a readable leader and ISR, such as {masks.unjudged[0]}"


#: An outcome, and equal partitions that have it.
_Judged = list[tuple[AfterFailure, PartitionMasks]]


class Judge:
    """One cluster. Equal partitions are judged once, and only if a failure can concern them."""

    def __init__(self, case: CaseFile) -> None:
        self.case = case
        self.masks = masks_of(case, live_of(case))
        #: Few outcomes differ, since only the brokers of a partition matter.
        self._after = cache(after_failure)

    def judge(self, failure: Failure, *, named: bool = False) -> FailureForecast:
        touched = self._judged(failure, self._touched(failure))
        stops, under = self._internal(touched)
        offsets = [tp.partition for tp in stops if tp.topic == OFFSETS_TOPIC]
        offsets_under = [tp.partition for tp in under if tp.topic == OFFSETS_TOPIC]
        partitions = tuple(p for p in self._named(touched) if p.changed) if named else ()
        counts = self._counts(touched)
        counts["unjudged"] += len(self.masks.unjudged)
        return FailureForecast(
            failure,
            **counts,
            groups=self._groups(offsets),
            unwritable=self._groups(offsets_under),
            offsets=tuple(sorted(offsets)),
            offsets_under=tuple(sorted(offsets_under)),
            transactions=tuple(sorted(tp.partition for tp in (*stops, *under) if tp.topic == TRANSACTIONS_TOPIC)),
            share_states=tuple(sorted(tp.partition for tp in (*stops, *under) if tp.topic == SHARE_TOPIC)),
            controller_moves=self._controller_moves(failure),
            quorum_lost=quorum_lost(self.case, failure),
            partitions=partitions,
            risks=risks_of(self.case, failure, partitions),
        )

    def every_partition(self, failure: Failure) -> Mapping[TopicPartition, PartitionForecast]:
        """Returns the forecast of each partition, including the unaffected ones."""
        return {p.tp: p for p in self._named(self._judged(failure, self.masks.rows))}

    def _judged(self, failure: Failure, rows: Iterable[PartitionMasks]) -> _Judged:
        down = self.masks.mask(failure.brokers)
        # In ZooKeeper's rules a cluster without a live controller elects one, which knows only the record.
        bit = self.masks.controller_bit
        new = self.case.zookeeper_rules and (bit == NONE or bool(bit & down))
        if self.case.kraft:
            new = self._controller_moves(failure) is True
        frozen = self.case.kraft and quorum_lost(self.case, failure) is True
        return [(self._after(row, down & row.concerning, new_controller=new, frozen=frozen), row) for row in rows]

    def _touched(self, failure: Failure) -> Iterable[PartitionMasks]:
        """Returns the rows that the failure may change: those with such brokers, and all restless ones."""
        concerned = (row for broker in failure.brokers for row in self._by_broker[broker])
        return dict.fromkeys((*concerned, *self._restless))

    @cached_property
    def _restless(self) -> tuple[PartitionMasks, ...]:
        return tuple(row for row in self.masks.rows if row.restless)

    @cached_property
    def _by_broker(self) -> Mapping[int, list[PartitionMasks]]:
        found: dict[int, list[PartitionMasks]] = {broker: [] for broker in self.masks.bits}
        for row in self.masks.rows:
            for broker in self.masks.brokers(row.concerning):
                found[broker].append(row)
        return found

    @cached_property
    def _internal_rows(self) -> Mapping[PartitionMasks, list[TopicPartition]]:
        internal = ((row, [tp for tp in tps if tp.topic in INTERNAL_TOPICS]) for row, tps in self.masks.rows.items())
        return {row: tps for row, tps in internal if tps}

    def _internal(self, touched: _Judged) -> tuple[list[TopicPartition], list[TopicPartition]]:
        """Returns the internal partitions that stop, and those that fall below min.insync.replicas."""
        stops: list[TopicPartition] = []
        under: list[TopicPartition] = []
        for after, row in touched:
            internal = self._internal_rows.get(row, ())
            if after.fate in {Fate.STOPS, Fate.STRANDED}:
                stops += internal
            elif after.falls_under == YES:
                under += internal
        return stops, under

    def _groups(self, partitions: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({g for p in partitions for g in self.case.groups.get(p, ())}))

    def _controller_moves(self, failure: Failure) -> bool | None:
        if self.case.kraft:
            quorum = self.case.snapshot.quorum
            if quorum is None or not quorum.read:
                return None
            return quorum.leader in controllers_in(failure, self.case)
        controller = self.masks.controller
        return None if controller is None else controller in failure.brokers

    def _named(self, judged: _Judged) -> list[PartitionForecast]:
        found: list[PartitionForecast] = []
        for after, row in judged:
            tps = self.masks.rows[row]
            first = self._one(tps[0], after, row)
            found += (replace(first, tp=tp) for tp in tps)
        return sorted(found, key=lambda p: p.tp)

    def _one(self, tp: TopicPartition, after: AfterFailure, row: PartitionMasks) -> PartitionForecast:
        return PartitionForecast(
            tp=tp,
            fate=after.fate,
            leader_before=self._leader(row.serves),
            leader=self._leader(after.leader),
            replicas=self.masks.ordered(row.order),
            isr_before=self.masks.brokers(row.isr),
            isr=self.masks.brokers(after.isr),
            min_isr=None if after.min_isr == UNREAD else after.min_isr,
            under_min_isr=_known(after.under),
            falls_under=_known(after.falls_under),
            last_in_sync=after.last,
            left_with_last=after.left_with_last,
        )

    def _leader(self, bit: int) -> int | None:
        if bit == UNREAD:
            return None
        return NO_LEADER if bit == NONE else self.masks.brokers(bit)[0]

    def _counts(self, touched: _Judged) -> dict[str, int]:
        fates: Counter[Fate] = Counter()
        revived = under = last = unjudged = 0
        for after, row in touched:
            n = len(self.masks.rows[row])
            fates[after.fate] += n
            revived += n * (after.fate is Fate.STOPPED and after.leader > NONE)
            under += n * (after.falls_under == YES)
            last += n * after.left_with_last
            unjudged += n * (after.fate is Fate.UNKNOWN or after.falls_under == UNREAD)
        return {
            "stops": fates[Fate.STOPS] + fates[Fate.STRANDED],
            "stranded": fates[Fate.STRANDED],
            "unclean": fates[Fate.UNCLEAN],
            "moves": fates[Fate.MOVES],
            "stopped": fates[Fate.STOPPED],
            "revived": revived,
            "under_min_isr": under,
            "last_in_sync": last,
            "unjudged": unjudged,
        }


def _known(value: int) -> bool | None:
    return {YES: True, NO: False}.get(value)
