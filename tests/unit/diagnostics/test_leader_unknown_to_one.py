"""One broker reports no leader where the others name a live one, at the same epoch: its metadata is stale."""

import pytest

from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.clusters import base


@pytest.mark.parametrize("on_kraft", [False, True])
@pytest.mark.parametrize("broker", [1, 2, 3])
def test_whichever_broker_it_is_its_metadata_is_stale_and_the_partition_has_a_leader(broker, on_kraft):
    paper = base()
    part = paper.part("orders", 0)
    part.seen_by[broker] = (-1, part.epoch, part.isr)
    made = kraft_clusters.kraft(paper).snapshot(quorum=kraft_clusters.quorum({})) if on_kraft else paper.snapshot()
    [found] = diagnose(made).findings
    assert (found.code, found.obj) == ("KFX203", f"broker {broker}")
    assert "reports no leader for orders-0, which is led by a live broker" in found.summary


def test_a_dead_leader_is_named_by_no_broker():
    paper = base().kill(1, 300)
    part = paper.part("orders", 0)
    part.leader = -1
    part.seen_by[2] = (1, part.epoch, part.isr)
    assert "KFX203" not in {found.code for found in diagnose(paper.snapshot()).findings}
