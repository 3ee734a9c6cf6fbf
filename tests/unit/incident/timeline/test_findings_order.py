"""Findings over several snapshots: consequences stand after their cause, and what one snapshot knew is kept."""

from kfix.incident.timeline.findings import Findings
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics import cut_clusters
from tests.unit.diagnostics.build import NOW
from tests.unit.diagnostics.clusters import coordinator_stuck


def test_a_consequence_is_never_the_headline():
    snapshot = cut_clusters.zone_isolated()
    found = Findings()
    found.add_snapshot(snapshot, diagnose(snapshot), "here")
    codes = [row.code for row in found.causes()]
    assert codes[0] == "KFX803"
    assert set(codes[1:]) == {"KFX203", "KFX302", "KFX403"}


def test_a_later_snapshot_that_cannot_name_the_blocked_groups_takes_none_away():
    knowing, blind = coordinator_stuck(), coordinator_stuck()
    blind.groups = ()
    found = Findings()
    for number, paper in enumerate((knowing, blind)):
        snapshot = paper.snapshot(taken_at=NOW + 10 * number)
        found.add_snapshot(snapshot, diagnose(snapshot), "here")
    [stuck] = [row for row in found.causes() if row.code == "KFX101"]
    assert stuck.groups == ("g2",)
