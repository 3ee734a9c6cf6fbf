"""`--before FILE`: a partition led anew, whose former leader's log end the file does not hold, is not judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.derive.loss import led_outside, sample_of, without_earlier_end
from kfix.model.cluster.snapshot import Snapshot, TopicPartition
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


@pytest.mark.parametrize(
    ("leader", "unknown"), [(3, (TopicPartition("orders", 0),)), (2, ()), (1, ())], ids=["other", "eligible", "last"]
)
def test_a_partition_that_waited_and_is_led_by_another_replica_is_not_judged(
    leader: int, unknown: tuple[TopicPartition, ...]
) -> None:
    """Broker 2 was eligible and 1 led last; how much the dead one of them had, no earlier snapshot shows."""
    before = kraft_clusters.eligible_dead()
    tp = TopicPartition("orders", 0)
    views = {
        broker: replace(
            view,
            partitions={
                **view.partitions,
                tp: view.partitions[tp]._replace(leader=leader, isr=(1, 3), leader_epoch=9),
            },
        )
        for broker, view in before.views.items()
    }
    later = replace(before, views=views, taken_at=NOW + 100)
    assert led_outside(later, before) == unknown
    assert led_outside(before, before) == ()
