"""Log end offsets of all live replicas, for the partitions whose findings need them."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from kfix.core.collect.tasks import Brokers, asks, by_broker, by_partition
from kfix.core.derive.vantage import distinct
from kfix.core.kafka import requests
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.requests import PartitionOffset
from kfix.core.snapshot.memory import AtRisk
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import (
    NO_LEADER,
    BrokerView,
    EpochEnd,
    LogEnd,
    PartitionState,
    PartitionView,
    Sample,
    TopicPartition,
)
from kfix.core.timing import Deadline

#: Most partitions of one kind per snapshot; the first ones show the problem, and the request stays cheap.
MOST_PARTITIONS = 200
#: Most partitions with `every_log_end`: 20 bytes each, in one request per broker.
MOST_OF_ALL = 50_000


def suspicious(
    record: ClusterRecord | None, views: Mapping[int, BrokerView], live: frozenset[int], *, apart: bool = False
) -> dict[TopicPartition, tuple[int, ...]]:
    """Returns partitions whose logs a finding may need, with their replicas, at most `MOST_PARTITIONS` per kind.

    These are partitions without a leader, partitions where brokers and the record disagree, partitions led by a broker
    with stale metadata (its high watermark may be stuck), and partitions with a live replica that is not in the ISR.
    With `apart`, also partitions led here with replicas that are unreachable from here: they may be active elsewhere.
    """
    picked: dict[TopicPartition, tuple[int, ...]] = {}
    for tp, replicas in _candidates(record, views, live):
        picked[tp] = replicas
        if len(picked) == MOST_PARTITIONS:
            break
    return picked | dict(_parted(record, views)[:MOST_PARTITIONS]) if apart else picked


def _candidates(
    record: ClusterRecord | None, views: Mapping[int, BrokerView], live: frozenset[int]
) -> Iterable[tuple[TopicPartition, tuple[int, ...]]]:
    if record is None:
        for view in list(views.values())[:1]:
            found = view.partitions.items()
            yield from ((tp, p.replicas) for tp, p in found if p.leader == NO_LEADER or p.leader not in live)
        return
    yield from _recorded_candidates(record, views, live)


def _recorded_candidates(
    record: ClusterRecord, views: Mapping[int, BrokerView], live: frozenset[int]
) -> Iterable[tuple[TopicPartition, tuple[int, ...]]]:
    stale: set[int] = set()
    lagging: list[tuple[TopicPartition, tuple[int, ...]]] = []
    # Equal records of equal replicas are judged once: a large cluster has few different ones.
    judged: dict[Hashable, _Doubt | None] = {}
    maps, brokers = distinct(views)
    for tp, state in record.states.items():
        assignment = record.assignments.get(tp)
        if assignment is None:
            continue
        seen = tuple([each.get(tp) for each in maps])
        key = (state[:3], seen, assignment.replicas)
        if key not in judged:
            judged[key] = _doubt_of(state, seen, assignment.replicas, live)
        doubt = judged[key]
        if doubt is None:
            continue
        if doubt.open:
            yield tp, assignment.replicas
        for position in doubt.stale:
            stale |= brokers[position]
        if doubt.lagging:
            lagging.append((tp, assignment.replicas))
    if stale:
        yield from (
            (tp, record.assignments[tp].replicas)
            for tp, state in record.states.items()
            if state.leader in stale and tp in record.assignments
        )
    yield from lagging


class _Doubt(NamedTuple):
    """`stale` are the positions of the views with older metadata than the record."""

    open: bool
    stale: tuple[int, ...]
    lagging: bool


def _doubt_of(
    state: PartitionState, seen: Sequence[PartitionView | None], replicas: tuple[int, ...], live: frozenset[int]
) -> _Doubt | None:
    known = [(position, view) for position, view in enumerate(seen) if view is not None]
    diverged = any((v.leader, v.leader_epoch) != (state.leader, state.leader_epoch) for _, v in known)
    stale: tuple[int, ...] = ()
    if diverged or len({view.isr for _, view in known}) > 1:
        record = state.leader_epoch, set(state.isr)
        stale = tuple(position for position, view in known if (view.leader_epoch, set(view.isr)) != record)
    lagging = any(b in live and b not in state.isr for b in replicas)
    doubt = _Doubt(diverged or state.leader not in live, stale, lagging)
    return doubt if any(doubt) else None


def _parted(
    record: ClusterRecord | None, views: Mapping[int, BrokerView]
) -> list[tuple[TopicPartition, tuple[int, ...]]]:
    """Returns partitions with an unreachable preferred leader first, then by name: two places choose the same ones."""
    if record is not None:
        known = [(tp, a.replicas) for tp, a in record.assignments.items()]
    else:
        known = [(tp, p.replicas) for view in views.values() for tp, p in view.partitions.items()]
    led = claims(dict(known), views)
    found = {tp: replicas for tp, replicas in known if tp in led and not views.keys() >= set(replicas)}
    return sorted(found.items(), key=lambda item: (item[1][0] in views, item[0]))


def claims(
    replicas: Mapping[TopicPartition, tuple[int, ...]], views: Mapping[int, BrokerView]
) -> dict[TopicPartition, dict[int, int]]:
    """Returns {partition: {replica that claims leadership: leader epoch}}."""
    found: dict[TopicPartition, dict[int, int]] = {}
    for tp, ids in replicas.items():
        for broker in ids:
            p = views[broker].partitions.get(tp) if broker in views else None
            if p is not None and p.leader == broker:
                found.setdefault(tp, {})[broker] = p.leader_epoch
    return found


def older_epochs(claimed: Mapping[TopicPartition, Mapping[int, int]]) -> dict[int, dict[TopicPartition, int]]:
    """Returns {newer leader: {partition: epoch of the older leader}} for partitions with two leaders."""
    found: dict[int, dict[TopicPartition, int]] = {}
    for tp, leaders in claimed.items():
        newest = max(leaders, key=lambda b: leaders[b])
        older = [epoch for epoch in leaders.values() if epoch < leaders[newest]]
        if older:
            found.setdefault(newest, {})[tp] = min(older)
    return found


def epochs_before(
    claimed: Mapping[TopicPartition, Mapping[int, int]], views: Mapping[int, BrokerView]
) -> dict[int, dict[TopicPartition, int]]:
    """Returns {leader: {partition: previous epoch}} for partitions with one leader and an unreachable replica."""
    found: dict[int, dict[TopicPartition, int]] = {}
    for tp, leaders in claimed.items():
        for broker, epoch in leaders.items() if len(leaders) == 1 else ():
            if epoch > 0 and not views.keys() >= set(views[broker].partitions[tp].replicas):
                found.setdefault(broker, {})[tp] = epoch - 1
    return found


def newly_led(
    before: Sample | None, at_risk: Mapping[TopicPartition, AtRisk], record: ClusterRecord | None
) -> dict[int, dict[TopicPartition, int]]:
    """Returns {leader: {partition: previous epoch}} for partitions elected since `before` or since they were at
    risk.
    """
    found: dict[int, dict[TopicPartition, int]] = {}
    if record is None:
        return found
    epochs = {tp: was.former_epoch for tp, was in at_risk.items() if was.end >= 0}
    epochs |= {tp: epoch for tp, (_, epoch, _) in (before.leaders.items() if before is not None else ())}
    for tp, epoch in epochs.items():
        state = record.states.get(tp)
        if state is not None and state.leader >= 0 and state.leader_epoch > epoch:
            found.setdefault(state.leader, {})[tp] = epoch
    return found


def replicas_of(
    record: ClusterRecord | None, partitions: Collection[TopicPartition] | None
) -> dict[TopicPartition, tuple[int, ...]]:
    """Returns the replicas of these partitions, or with None the replicas of all, at most `MOST_OF_ALL`."""
    if record is None:
        return {}
    if partitions is not None:
        return {tp: record.assignments[tp].replicas for tp in partitions if tp in record.assignments}
    return {tp: each.replicas for tp, each in islice(record.assignments.items(), MOST_OF_ALL)}


def ask_visible(
    connection: BrokerConnection, tps: tuple[TopicPartition, ...], deadline: Deadline
) -> dict[TopicPartition, int]:
    """Returns high watermarks as consumers of this leader see them."""
    request = requests.list_offsets(tps, requests.LATEST, replica=-1)
    found = connection.call(request, deadline)
    return {tp: each.offset for tp, each in found.items() if not each.error}


def read_epoch_ends(
    brokers: Brokers, name: str, epochs: Mapping[int, Mapping[TopicPartition, int]], *, earlier: bool = False
) -> dict[TopicPartition, EpochEnd]:
    """Reads where leader epochs ended; `epochs` is {leader: {partition: epoch}}, `name` is the source's name.

    With `earlier`, the end of an earlier epoch counts too if the requested one has no record, and errors do not.
    """

    def end(leader: int, tp: TopicPartition, answer: PartitionOffset) -> EpochEnd:
        if answer.error:
            return EpochEnd(leader, epochs[leader][tp], -1, name_of(answer.error))
        return EpochEnd(leader, answer.leader_epoch if earlier else epochs[leader][tp], answer.offset)

    answers = brokers.each(name, epochs, asks(requests.epoch_ends))
    rows = [(leader, tp, answer) for leader, ends in answers.found.items() for tp, answer in ends.items()]
    return {tp: end(b, tp, each) for b, tp, each in rows if not earlier or (not each.error and each.offset >= 0)}


def read_log_ends(
    brokers: Brokers, replicas: Mapping[TopicPartition, tuple[int, ...]]
) -> dict[TopicPartition, dict[int, LogEnd]]:
    """Returns {partition: {replica: its log end}}."""
    hosted = by_broker((b, tp) for tp, ids in replicas.items() for b in ids)
    return by_partition(brokers.each("log ends broker", hosted, ask_log_ends).found)


def ask_bounds(
    line: BrokerConnection, tps: tuple[TopicPartition, ...], deadline: Deadline
) -> list[dict[TopicPartition, PartitionOffset]]:
    """Returns log starts, high watermarks and last stable offsets, as a consumer of this leader sees them."""
    # The last stable offset comes last: then a transaction that has just ended leaves no doubt.
    starts = requests.list_offsets(tps, requests.EARLIEST, replica=requests.CONSUMER)
    return line.call_many([starts, *requests.high_and_stable(tps)], deadline)


def ask_log_ends(
    connection: BrokerConnection, tps: tuple[TopicPartition, ...], deadline: Deadline
) -> dict[TopicPartition, LogEnd]:
    ends, starts = connection.call_many(
        [requests.list_offsets(tps, requests.LATEST), requests.list_offsets(tps, requests.EARLIEST)],
        deadline,
    )
    found = {}
    # Most logs of a large cluster are empty or equally long: equal ends share one object.
    known: dict[tuple[int, int, int], LogEnd] = {}
    for tp, end in ends.items():
        start = starts.get(tp)
        bad = end.error or (start.error if start else 0)
        key = (bad, start.offset if start else -1, end.offset)
        made = known.get(key)
        if made is None:
            made = known[key] = LogEnd(-1, -1, name_of(bad)) if bad else LogEnd(*key[1:])
        found[tp] = made
    return found
