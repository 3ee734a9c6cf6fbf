"""Records lost between two snapshots: a leader had them, and today's log does not.

A new leader began its epoch at its own log end. If the old leader returns, its records beyond that offset are truncated
(KIP-101). Only an earlier snapshot shows that they existed, or that the new leader lacked records.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kfix.core.derive.background import live_brokers
from kfix.core.derive.record import record_of
from kfix.core.snapshot.memory import AtRisk
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import PartitionState, Sample, Snapshot, TopicPartition


@dataclass(frozen=True, slots=True)
class Lost:
    """Lost `records` beyond `end`, where the epoch of that leader ended; 0 if their number is unknown.

    `committed` of them were below its high watermark: consumers could read them, and acks=all may have acknowledged
    them. `exact` is False if today's leader did not report that end: then both are lower bounds.
    `holders` are brokers that have not returned since: their disks have the only copies of the records. `lacking` is
    today's leader if it was not known to hold every record, -1 if the snapshot does not show that; `proven` is whether
    it cannot have joined the ISR before it was elected.
    """

    tp: TopicPartition
    leader: int
    epoch: int
    end: int
    records: int
    committed: int
    exact: bool
    since: float
    holders: tuple[int, ...] = ()
    lacking: int = -1
    proven: bool = False


def sample_of(before: Snapshot) -> Sample:
    """Returns the sample to compare a later snapshot with; `kfix snapshot save` reads the log ends of every
    partition.
    """
    record = record_of(before)
    states = record.states if record is not None else {}
    leaders = {tp: (s.leader, s.leader_epoch, s.version) for tp, s in states.items() if s.leader >= 0}
    ends = before.all_reported_ends()
    visible = {
        tp: seen[leader] for tp, (leader, _, _) in leaders.items() if leader in (seen := before.visible.get(tp, {}))
    }
    return Sample(before.taken_at, ends, leaders, visible)


def lost_since(snapshot: Snapshot) -> tuple[Lost, ...]:
    """Returns the losses since the samples that know leaders, and since the partitions that are kept as at risk."""
    found: dict[TopicPartition, Lost] = {}
    for sample in sorted(snapshot.samples, key=lambda s: s.taken_at):
        found |= {tp: lost for tp, lost in _compared(snapshot, sample) if lost is not None and lost.records > 0}
    for tp, was in snapshot.memory.at_risk.items():
        lost = lost_from(was, tp, snapshot)
        if lost is not None:
            counted = found.get(tp, lost)
            found[tp] = replace(counted, holders=lost.holders, lacking=lost.lacking, proven=lost.proven)
    return tuple(found[tp] for tp in sorted(found))


def lost_from(was: AtRisk, tp: TopicPartition, snapshot: Snapshot) -> Lost | None:
    """Returns the loss of a partition that lacked replicas; None if a replica that had every record leads it."""
    record = record_of(snapshot)
    state = None if record is None else record.states.get(tp)
    if record is None or state is None or not is_led_outside(was, state):
        return None
    away = _away(was.holders, tp, snapshot, record)
    sample = Sample(was.at, {}, {tp: (was.former, was.former_epoch, was.version)}, {tp: was.visible})
    counted = None if was.end < 0 or state.leader < 0 else _lost(snapshot, sample, tp, was.end, state.leader)
    proven = _is_unclean(was, state)
    if counted is None or not counted.records:
        # If all holders are down, none has probably led in between.
        if not (proven or (was.leader < 0 and set(away) == set(was.holders))):
            return None
        counted = Lost(tp, was.former, was.former_epoch, -1, 0, 0, exact=False, since=was.at)
    # The former leader may have had more records than that snapshot shows.
    return replace(counted, exact=False, holders=away, lacking=state.leader, proven=proven)


def in_doubt(snapshot: Snapshot) -> dict[int, tuple[TopicPartition, ...]]:
    """Returns {broker that is down: partitions of which it may have the only copy of records}, on KRaft.

    An earlier snapshot shows that only brokers which are down now had every record, and another replica leads now. No
    client sees on KRaft whether that one joined the ISR before (docs/facts/kraft.md), so a loss is neither shown nor
    ruled out.
    """
    found: dict[int, list[TopicPartition]] = {}
    record = record_of(snapshot)
    for tp, was in sorted(snapshot.memory.at_risk.items()):
        state = None if record is None else record.states.get(tp)
        if record is None or state is None or was.version >= 0 or not is_led_outside(was, state):
            continue
        away = _away(was.holders, tp, snapshot, record)
        if set(away) == set(was.holders) and lost_from(was, tp, snapshot) is None:
            for broker in away:
                found.setdefault(broker, []).append(tp)
    return {broker: tuple(tps) for broker, tps in found.items()}


def is_led_outside(was: AtRisk, state: PartitionState) -> bool:
    """Returns whether a replica leads, or led last, that was not known to hold every record.

    A record with a lower version or epoch belongs to another topic of the same name.
    """
    if state.version < was.version or state.leader_epoch <= was.epoch or not was.holders:
        return False
    if state.leader < 0:
        return bool(state.isr) and not set(state.isr) & set(was.holders)
    return state.leader not in was.holders


def _is_unclean(was: AtRisk, state: PartitionState) -> bool:
    """Returns whether no replica outside the holders can have joined the ISR before it was elected.

    A replica that joins is written to ZooKeeper without a new leader epoch; an election is written with one. A
    partition without a leader needs two elections until another replica than a holder leads it cleanly.
    """
    elections = state.leader_epoch - was.epoch
    written = was.version >= 0 and state.version - was.version == elections
    return written or (was.leader < 0 and elections == 1)


def _away(holders: tuple[int, ...], tp: TopicPartition, snapshot: Snapshot, record: ClusterRecord) -> tuple[int, ...]:
    """Returns the holders that are down; a broker that is no longer assigned will not be a replica again."""
    quorum, assignment = snapshot.quorum, record.assignments.get(tp)
    replicas = () if assignment is None else assignment.replicas
    up = (live_brokers(snapshot) or frozenset()) | snapshot.views.keys()
    return tuple(b for b in holders if b in replicas and b not in up and not (quorum and quorum.fetches(b)))


def _led_anew(snapshot: Snapshot, sample: Sample) -> Iterator[tuple[TopicPartition, int, int | None]]:
    """Yields (partition, present leader, former leader's log end) of the partitions with a new leader epoch."""
    record = record_of(snapshot)
    if record is None:
        return
    for tp, (leader, epoch, version) in sample.leaders.items():
        state = record.states.get(tp)
        # A lower version belongs to another topic of the same name.
        if state is not None and state.version >= version and state.leader_epoch > epoch:
            yield tp, state.leader, sample.ends.get(tp, {}).get(leader)


def _compared(snapshot: Snapshot, sample: Sample) -> Iterator[tuple[TopicPartition, Lost | None]]:
    """Yields the partitions with a new leader epoch, each with its known loss."""
    for tp, now, had in _led_anew(snapshot, sample):
        if had is not None and now >= 0:
            yield tp, _lost(snapshot, sample, tp, had, now)


def without_present_end(snapshot: Snapshot, sample: Sample) -> tuple[TopicPartition, ...]:
    """Returns the partitions with a new leader epoch since the sample, whose present leader did not report where the
    former leader's epoch ended: a log that has grown since then may hide a loss.
    """
    return tuple(
        sorted(tp for tp, lost in _compared(snapshot, sample) if lost is None or not (lost.exact or lost.records))
    )


def without_earlier_end(snapshot: Snapshot, sample: Sample) -> tuple[TopicPartition, ...]:
    """Returns the partitions with a new leader epoch since the sample, which lacks the log end of their leader."""
    return tuple(sorted(tp for tp, _, had in _led_anew(snapshot, sample) if had is None))


def led_outside(snapshot: Snapshot, before: Mapping[TopicPartition, AtRisk]) -> tuple[TopicPartition, ...]:
    """Returns the partitions that had no leader and are now led by a replica that was not known to hold every record.

    Whether records were lost is unknown: a holder may have led in between.
    """
    record = record_of(snapshot)
    states = {} if record is None else record.states
    return tuple(
        sorted(
            tp
            for tp, was in before.items()
            if was.leader < 0
            and (state := states.get(tp)) is not None
            and state.leader >= 0
            and is_led_outside(was, state)
            and lost_from(was, tp, snapshot) is None
        )
    )


def _lost(snapshot: Snapshot, sample: Sample, tp: TopicPartition, had: int, now: int) -> Lost | None:
    leader, epoch, _ = sample.leaders[tp]
    ended = snapshot.epoch_ends.get(tp)
    exact = ended is not None and not ended.error and ended.epoch == epoch and ended.leader == now and ended.end >= 0
    current = snapshot.reported_ends(tp).get(now)
    if exact and ended is not None:
        end = ended.end
    elif current is not None:
        end = current
    else:
        return None
    committed = max(0, min(sample.visible.get(tp, 0), had) - end)
    record = record_of(snapshot)
    away = () if record is None else _away((leader,), tp, snapshot, record)
    return Lost(tp, leader, epoch, end, max(0, had - end), committed, exact, sample.taken_at, away)
