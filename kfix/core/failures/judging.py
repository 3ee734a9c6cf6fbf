"""Judges failures of brokers: partitions by `rules`, then groups, controller and ZooKeeper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

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


class _Equals:
    """Equal partitions with the outcomes that were judged so far: few, since only their own brokers matter."""

    __slots__ = ("_known", "concerning", "row", "tps")

    def __init__(self, row: PartitionMasks, tps: tuple[TopicPartition, ...]) -> None:
        self.row = row
        self.tps = tps
        self.concerning = row.replicas | row.isr | row.leader | max(row.believed, NONE) | max(row.elr, NONE)
        self._known: dict[tuple[int, bool, bool], _Outcome] = {}

    def after(self, down: int, *, new_controller: bool, frozen: bool) -> _Outcome:
        key = (down & self.concerning, new_controller, frozen)
        found = self._known.get(key)
        if found is None:
            after = after_failure(self.row, key[0], new_controller=new_controller, frozen=frozen)
            found = self._known[key] = _Outcome(after)
        return found


class _Outcome:
    """An outcome, and the counts that it belongs to."""

    __slots__ = ("after", "counts")

    def __init__(self, after: AfterFailure) -> None:
        falls = after.falls_under
        self.after = after
        self.counts = (
            after.fate,
            after.fate is Fate.STOPPED and after.leader > NONE,
            falls == YES,
            after.left_with_last,
            after.fate is Fate.UNKNOWN or falls == UNREAD,
        )


_Judged = list[tuple[_Outcome, _Equals]]


class Judge:
    """One cluster. Equal partitions are judged once, and only if a failure can concern them."""

    def __init__(self, case: CaseFile) -> None:
        self.case = case
        self.masks = masks_of(case, live_of(case))
        self._equals = [_Equals(row, tps) for row, tps in self.masks.rows.items()]

    def judge(self, failure: Failure, *, named: bool = False) -> FailureForecast:
        touched = self._judged(failure, self._touched(failure))
        stops, under = self._internal(touched)
        offsets = [tp.partition for tp in stops if tp.topic == OFFSETS_TOPIC]
        offsets_under = [tp.partition for tp in under if tp.topic == OFFSETS_TOPIC]
        partitions = tuple(p for p in self._named(touched) if p.changed) if named else ()
        counts = _counts(touched)
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
        return {p.tp: p for p in self._named(self._judged(failure, self._equals))}

    def _judged(self, failure: Failure, equals: Iterable[_Equals]) -> _Judged:
        down = self.masks.mask(failure.brokers)
        # In ZooKeeper's rules a cluster without a live controller elects one, which knows only the record.
        bit = self.masks.controller_bit
        new = self.case.zookeeper_rules and (bit == NONE or bool(bit & down))
        if self.case.kraft:
            new = self._controller_moves(failure) is True
        frozen = self.case.kraft and quorum_lost(self.case, failure) is True
        return [(each.after(down, new_controller=new, frozen=frozen), each) for each in equals]

    def _touched(self, failure: Failure) -> Iterable[_Equals]:
        found = {id(each): each for broker in failure.brokers for each in self._by_broker.get(broker, ())}
        return (*found.values(), *self._restless)

    @cached_property
    def _restless(self) -> tuple[_Equals, ...]:
        return tuple(each for each in self._equals if each.row.restless)

    @cached_property
    def _by_broker(self) -> Mapping[int, list[_Equals]]:
        found: dict[int, list[_Equals]] = {}
        for each in self._equals:
            if not each.row.restless:
                for broker in self.masks.brokers(each.concerning):
                    found.setdefault(broker, []).append(each)
        return found

    @cached_property
    def _with_coordinators(self) -> frozenset[int]:
        """Returns the identities of the equal partitions that include internal ones."""
        return frozenset(id(each) for each in self._equals if any(tp.topic in INTERNAL_TOPICS for tp in each.tps))

    def _internal(self, touched: _Judged) -> tuple[list[TopicPartition], list[TopicPartition]]:
        """Returns the internal partitions that stop, and those that fall below min.insync.replicas."""
        stops: list[TopicPartition] = []
        under: list[TopicPartition] = []
        for outcome, each in touched:
            if id(each) not in self._with_coordinators:
                continue
            internal = [tp for tp in each.tps if tp.topic in INTERNAL_TOPICS]
            if outcome.after.fate in {Fate.STOPS, Fate.STRANDED}:
                stops += internal
            elif outcome.after.falls_under == YES:
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
        for outcome, each in judged:
            first = self._one(each.tps[0], outcome.after, each.row)
            found += (replace(first, tp=tp) for tp in each.tps)
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


def _known(value: int) -> bool | None:
    return {YES: True, NO: False}.get(value)


def _counts(touched: _Judged) -> dict[str, int]:
    totals: Counter[tuple[Fate, bool, bool, bool, bool]] = Counter()
    for outcome, each in touched:
        totals[outcome.counts] += len(each.tps)
    fates: Counter[Fate] = Counter()
    revived = under = last = unjudged = 0
    for (fate, again, falls, left, unknown), n in totals.items():
        fates[fate] += n
        revived += n * again
        under += n * falls
        last += n * left
        unjudged += n * unknown
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
