"""Records lost between two snapshots: a leader had them, and today's log does not.

A new leader began its epoch where its own log ended. Records of the old leader beyond that offset were truncated when
it returned (KIP-101). Only an earlier snapshot shows that they existed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kfix.derive.record import record_of
from kfix.model.cluster.snapshot import Sample, Snapshot, TopicPartition


@dataclass(frozen=True, slots=True)
class Lost:
    """Lost `records` beyond `end`, where the epoch of that leader ended.

    `committed` of them were below its high watermark: consumers could read them, and acks=all may have acknowledged
    them. `exact` is False if today's leader did not report that end: then both are lower bounds.
    """

    tp: TopicPartition
    leader: int
    epoch: int
    end: int
    records: int
    committed: int
    exact: bool
    since: float


def sample_of(before: Snapshot) -> Sample:
    """Returns what a later snapshot is compared with; `kfix snapshot save` reads the log ends of all partitions."""
    record = record_of(before)
    states = record.states if record is not None else {}
    leaders = {tp: (s.leader, s.leader_epoch, s.version) for tp, s in states.items() if s.leader >= 0}
    ends = before.all_reported_ends()
    visible = {
        tp: seen[leader] for tp, (leader, _, _) in leaders.items() if leader in (seen := before.visible.get(tp, {}))
    }
    return Sample(before.taken_at, ends, leaders, visible)


def lost_since(snapshot: Snapshot) -> tuple[Lost, ...]:
    """Returns the losses since the samples that know leaders; none if the leader is the same, or there is none."""
    found: dict[TopicPartition, Lost] = {}
    for sample in sorted(snapshot.samples, key=lambda s: s.taken_at):
        found |= {tp: lost for tp, lost in _compared(snapshot, sample) if lost is not None and lost.records > 0}
    return tuple(found[tp] for tp in sorted(found))


def _led_anew(snapshot: Snapshot, sample: Sample) -> Iterator[tuple[TopicPartition, int, int | None]]:
    """Yields the partitions that another leader epoch leads than in the sample, each with its present leader, and the
    log end that the former one had.
    """
    record = record_of(snapshot)
    if record is None:
        return
    for tp, (leader, epoch, version) in sample.leaders.items():
        state = record.states.get(tp)
        # A lower version belongs to another topic of the same name.
        if state is not None and state.version >= version and state.leader_epoch > epoch:
            yield tp, state.leader, sample.ends.get(tp, {}).get(leader)


def _compared(snapshot: Snapshot, sample: Sample) -> Iterator[tuple[TopicPartition, Lost | None]]:
    """Yields the partitions that are led anew, each with what is known of its loss."""
    for tp, now, had in _led_anew(snapshot, sample):
        if had is not None and now >= 0:
            yield tp, _lost(snapshot, sample, tp, had, now)


def without_present_end(snapshot: Snapshot, sample: Sample) -> tuple[TopicPartition, ...]:
    """Returns the partitions that were led anew since the sample, whose present leader did not report where the epoch
    of the former one ended: a log that has grown since then may hide a loss.
    """
    return tuple(
        sorted(tp for tp, lost in _compared(snapshot, sample) if lost is None or not (lost.exact or lost.records))
    )


def without_earlier_end(snapshot: Snapshot, sample: Sample) -> tuple[TopicPartition, ...]:
    """Returns the partitions that were led anew since the sample, which does not hold the log end of their leader."""
    return tuple(sorted(tp for tp, _, had in _led_anew(snapshot, sample) if had is None))


def led_outside(snapshot: Snapshot, before: Snapshot) -> tuple[TopicPartition, ...]:
    """Returns the partitions that had no leader, and are led now by a replica that was not known to hold every record.

    Neither their ISR nor their eligible or last known leaders had it: how much the others had was not known either.
    """
    record, earlier = record_of(snapshot), record_of(before)
    if record is None or earlier is None:
        return ()
    eligible = {} if before.quorum is None else before.quorum.eligible
    found = []
    for tp, was in earlier.states.items():
        state = record.states.get(tp)
        if was.leader >= 0 or state is None or state.leader < 0:
            continue
        safe = {*was.isr, *(b for each in eligible.get(tp, ()) for b in each)}
        if state.version >= was.version and state.leader_epoch > was.leader_epoch and state.leader not in safe:
            found.append(tp)
    return tuple(sorted(found))


def _lost(snapshot: Snapshot, sample: Sample, tp: TopicPartition, had: int, now: int) -> Lost | None:
    leader, epoch, _ = sample.leaders[tp]
    asked = snapshot.epoch_ends.get(tp)
    exact = asked is not None and not asked.error and asked.epoch == epoch and asked.leader == now and asked.end >= 0
    current = snapshot.reported_ends(tp).get(now)
    if exact and asked is not None:
        end = asked.end
    elif current is not None:
        end = current
    else:
        return None
    committed = max(0, min(sample.visible.get(tp, 0), had) - end)
    return Lost(tp, leader, epoch, end, max(0, had - end), committed, exact, sample.taken_at)
