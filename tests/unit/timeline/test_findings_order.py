"""What follows from a cause stands after it in the report, however long it was seen."""

from kfix.timeline.findings import Findings
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics import cut_clusters


def test_a_consequence_is_never_the_headline():
    snapshot = cut_clusters.zone_isolated()
    found = Findings()
    found.add_snapshot(snapshot, diagnose(snapshot), "here")
    codes = [row.code for row in found.causes()]
    assert codes[0] == "KFX803"
    assert set(codes[1:]) == {"KFX203", "KFX302", "KFX403"}
