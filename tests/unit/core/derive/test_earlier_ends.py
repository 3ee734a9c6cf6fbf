"""`--before FILE`: a partition led anew, whose former leader's log end the file does not hold, is not judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.core.derive.loss import led_outside, lost_since, sample_of, without_earlier_end, without_present_end
from kfix.core.derive.memory import at_risk
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import EpochEnd, LogEnd, PartitionView, Snapshot, TopicPartition
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.build import NOW
from tests.unit.diagnostics.clusters import base

LED_ANEW = TopicPartition("orders", 3)


def _later() -> Snapshot:
    paper = base()
    part = paper.part("orders", LED_ANEW.partition)
    part.write(leader=part.replicas[1], isr=part.isr, age=5.0)
    return replace(paper.snapshot(), taken_at=NOW + 100)


@pytest.mark.parametrize(("known", "unknown"), [(False, (LED_ANEW,)), (True, ())])
def test_what_the_earlier_snapshot_does_not_show_is_named(known: bool, unknown: tuple[TopicPartition, ...]) -> None:
    paper = base()
    paper.log_ends = {LED_ANEW: {paper.part("orders", LED_ANEW.partition).leader: 20}} if known else {}
    assert without_earlier_end(_later(), sample_of(paper.snapshot())) == unknown


def test_a_partition_with_the_same_leader_needs_no_earlier_end() -> None:
    snapshot = base().snapshot()
    assert without_earlier_end(replace(snapshot, taken_at=NOW + 100), sample_of(snapshot)) == ()


@pytest.mark.parametrize("leader", [3, 2, 1], ids=["other", "eligible", "last"])
@pytest.mark.parametrize("elections", [1, 2])
def test_a_partition_that_waited_and_is_led_by_another_replica_has_lost_records_or_is_not_judged(
    leader: int, elections: int
) -> None:
    """Broker 2 was eligible and 1 led last; after two elections one of them may have led in between."""
    before = kraft_clusters.eligible_dead()
    tp = TopicPartition("orders", 0)
    views = {
        broker: replace(view, partitions={**view.partitions, tp: _led(view.partitions[tp], leader, elections)})
        for broker, view in before.views.items()
    }
    rows = at_risk(before)
    later = replace(before, views=views, taken_at=NOW + 100, memory=Memory(at_risk=rows))
    assert [lost.tp for lost in lost_since(later)] == [tp] * (leader == 3 and elections == 1)
    assert led_outside(later, rows) == (tp,) * (leader == 3 and elections == 2)
    assert led_outside(before, rows) == ()


def _led(view: PartitionView, leader: int, elections: int) -> PartitionView:
    return view._replace(leader=leader, isr=(1, 3), leader_epoch=view.leader_epoch + elections)


REFUSED = EpochEnd(2, 0, -1, "UNKNOWN_SERVER_ERROR")


@pytest.mark.parametrize(
    ("asked", "end", "unknown"),
    [
        (REFUSED, 150, True),
        (REFUSED, None, True),
        (None, 150, True),
        (REFUSED, 60, False),
        (EpochEnd(2, 0, 100), 150, False),
    ],
    ids=["the log has grown", "nothing was read", "not asked", "the log is shorter", "the epoch ended there"],
)
def test_a_log_that_has_grown_since_hides_no_loss(asked: EpochEnd | None, end: int | None, unknown: bool) -> None:
    tp, paper = TopicPartition("orders", 0), base()
    part = paper.parts[tp]
    former, now = part.leader, next(b for b in part.replicas if b != part.leader)
    paper.log_ends = {tp: {former: 100}}
    sample = sample_of(paper.snapshot())
    epoch = sample.leaders[tp][1]
    part.write(leader=now, isr=(now,), age=5.0)
    found = {} if asked is None else {tp: asked._replace(leader=now, epoch=epoch)}
    ends = {} if end is None else {tp: {now: LogEnd(0, end)}}
    later = replace(paper.snapshot(), taken_at=NOW + 100, samples=(sample,), epoch_ends=found, log_ends=ends)
    assert (tp in without_present_end(later, sample)) is unknown
    assert bool(lost_since(later)) is (end == 60)


@pytest.mark.parametrize("version", [3, 5], ids=["created again", "the same topic"])
def test_a_topic_that_was_created_again_has_lost_nothing(version: int) -> None:
    """The record of the new topic has a lower version, and its leader epoch may be the higher one."""
    tp, paper = TopicPartition("orders", 0), base()
    part = paper.parts[tp]
    part.version, part.leader, part.isr = 5, -1, (1,)
    waited = at_risk(paper.snapshot())
    part.leader, part.isr = 1, (1, 2, 3)
    paper.log_ends = {tp: {1: 100}}
    sample = sample_of(paper.snapshot())
    part.version, part.leader, part.isr, part.epoch = version, 2, (2, 3), part.epoch + 2
    paper.log_ends = {tp: {2: 40}}
    later = replace(paper.snapshot(), taken_at=NOW + 100, samples=(sample,))
    same = [tp] if version == 5 else []
    assert [lost.tp for lost in lost_since(later)] == same
    assert list(led_outside(later, waited)) == same
