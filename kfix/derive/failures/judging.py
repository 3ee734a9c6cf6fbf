"""Judges failures of brokers: partitions by `rules`, then groups, controller and ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from kfix.derive.casefile import CaseFile
from kfix.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kfix.derive.failures.advice import advice_of
from kfix.derive.failures.masks import ClusterMasks, masks_of
from kfix.derive.failures.rules import NO, NONE, UNREAD, YES, AfterFailure, PartitionMasks, after_failure
from kfix.derive.failures.scenarios import live_of, quorum_lost, unknown_of
from kfix.model.cluster.snapshot import NO_LEADER, TopicPartition
from kfix.model.diagnosis.forecast import Failure, FailureForecast, Fate, Forecast, PartitionForecast
from kfix.wording import several

_INTERNAL = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)
_Judged = list[tuple[AfterFailure, PartitionMasks, tuple[TopicPartition, ...]]]


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
        taken_at=case.taken_at,
        brokers=tuple(sorted(masks.live)),
        partitions=len(counted) + len(masks.unjudged),
        topics=len({tp.topic for tp in (*counted, *masks.unjudged)}),
        groups_known=case.snapshot.groups_complete,
        failures=tuple(sorted(judged, key=lambda f: f.rank, reverse=True)),
        unknown=(*unknown_of(case), *_unjudged(masks)),
    )


def _unjudged(masks: ClusterMasks) -> Iterator[str]:
    if masks.unjudged:
        count = several(len(masks.unjudged), "partition")
        yield f"{count} without a readable leader and ISR, such as {masks.unjudged[0]}"


class Judge:
    """One cluster. Equal partitions are judged once, and only if a failure can concern them."""

    def __init__(self, case: CaseFile) -> None:
        self.case = case
        self.masks = masks_of(case, live_of(case))
        self._known: dict[tuple[PartitionMasks, int, bool], AfterFailure] = {}

    def judge(self, failure: Failure, *, named: bool = False) -> FailureForecast:
        touched = list(self._touched(failure))
        internal = self._internal(touched)
        counts = _counts(touched)
        stopping = [tp.partition for tp in internal[OFFSETS_TOPIC] if tp in internal["stops"]]
        under = [tp.partition for tp in internal[OFFSETS_TOPIC] if tp in internal["under"]]
        partitions = tuple(p for p in self._named(touched) if p.changed) if named else ()
        hit = {*internal["stops"], *internal["under"]}
        return FailureForecast(
            failure,
            **counts,
            unjudged=sum(len(tps) for after, _, tps in touched if _is_unjudged(after)) + len(self.masks.unjudged),
            groups=self._groups(stopping),
            unwritable=self._groups(under),
            offsets=tuple(sorted(stopping)),
            offsets_under=tuple(sorted(under)),
            transactions=tuple(sorted(tp.partition for tp in internal[TRANSACTIONS_TOPIC] if tp in hit)),
            controller_moves=self._controller_moves(failure),
            quorum_lost=quorum_lost(self.case, failure.brokers),
            partitions=partitions,
            remedies=advice_of(self.case, failure, partitions),
        )

    def every_partition(self, failure: Failure) -> Mapping[TopicPartition, PartitionForecast]:
        """Returns the forecast of each partition, also of those that nothing happens to."""
        down = self.masks.mask(failure.brokers)
        rows = [(self._after(row, down), row, tps) for row, tps in self.masks.rows.items()]
        return {p.tp: p for p in self._named(rows)}

    def _touched(self, failure: Failure) -> Iterator[tuple[AfterFailure, PartitionMasks, tuple[TopicPartition, ...]]]:
        down, by_broker = self.masks.mask(failure.brokers), self._by_broker
        rows = {id(row): row for broker in failure.brokers for row in by_broker.get(broker, ())}
        for row in (*rows.values(), *self._restless):
            yield self._after(row, down), row, self.masks.rows[row]

    @cached_property
    def _restless(self) -> tuple[PartitionMasks, ...]:
        return tuple(row for row in self.masks.rows if row.restless)

    @cached_property
    def _by_broker(self) -> Mapping[int, list[PartitionMasks]]:
        found: dict[int, list[PartitionMasks]] = {}
        for row in self.masks.rows:
            if not row.restless:
                for broker in self.masks.brokers(row.replicas | row.isr | row.leader):
                    found.setdefault(broker, []).append(row)
        return found

    def _after(self, row: PartitionMasks, down: int) -> AfterFailure:
        new = self._elects_controller(down)
        concerned = down & (row.replicas | row.isr | row.leader | max(row.believed, NONE))
        key = (row, concerned, new)
        if key not in self._known:
            self._known[key] = after_failure(row, concerned, new_controller=new)
        return self._known[key]

    def _elects_controller(self, down: int) -> bool:
        """Returns whether a new controller takes over, which knows only ZooKeeper's record."""
        if not self.case.zookeeper_rules:
            return False
        bit = self.masks.controller_bit
        return bit == NONE or bool(bit & down)

    def _internal(self, touched: _Judged) -> dict[str, list[TopicPartition]]:
        found: dict[str, list[TopicPartition]] = {name: [] for name in (*_INTERNAL, "stops", "under")}
        for after, _, tps in touched:
            for tp in tps:
                if tp.topic in found:
                    found[tp.topic].append(tp)
                    if after.fate in {Fate.STOPS, Fate.STRANDED}:
                        found["stops"].append(tp)
                    elif after.falls_under == YES:
                        found["under"].append(tp)
        return found

    def _groups(self, partitions: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({g for p in partitions for g in self.case.groups.get(p, ())}))

    def _controller_moves(self, failure: Failure) -> bool | None:
        controller = self.masks.controller
        return None if controller is None else controller in failure.brokers

    def _named(self, judged: _Judged) -> list[PartitionForecast]:
        found: list[PartitionForecast] = []
        for after, row, tps in judged:
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


def _known(value: int) -> bool | None:
    return {YES: True, NO: False}.get(value)


def _is_unjudged(after: AfterFailure) -> bool:
    return after.fate is Fate.UNKNOWN or after.falls_under == UNREAD


def _counts(touched: _Judged) -> dict[str, int]:
    fates = dict.fromkeys(Fate, 0)
    revived = under = last = 0
    for after, _, tps in touched:
        n = len(tps)
        fates[after.fate] += n
        revived += n * (after.fate is Fate.STOPPED and after.leader > NONE)
        under += n * (after.falls_under == YES)
        last += n * after.left_with_last
    return {
        "stops": fates[Fate.STOPS] + fates[Fate.STRANDED],
        "stranded": fates[Fate.STRANDED],
        "unclean": fates[Fate.UNCLEAN],
        "moves": fates[Fate.MOVES],
        "stopped": fates[Fate.STOPPED],
        "revived": revived,
        "under_min_isr": under,
        "last_in_sync": last,
    }
