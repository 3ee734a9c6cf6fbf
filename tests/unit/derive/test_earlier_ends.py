"""`--before FILE`: a partition led anew, whose former leader's log end the file does not hold, is not judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.derive.loss import sample_of, without_earlier_end
from kfix.model.cluster.snapshot import Snapshot, TopicPartition
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
