"""D1 and D2 on real brokers: afterwards all is well to look at, and a look from before tells what was lost."""

from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("incident", "severity", "code"), [("power-failure", "warning", 22), ("unclean-loss", "critical", 21)]
)
def test_an_earlier_snapshot_shows_what_was_lost(kfix, lab, incident, severity, code):
    broken = lab.break_(incident)
    told = broken.details
    said = kfix.diagnose("--before", told["before"])
    found = said.findings["KFX809"]
    assert (found["severity"], found["facts"]["exact"]) == (severity, True)
    assert (found["facts"]["lost"], found["facts"]["committed"]) == (told["lost"], told["committed"])
    assert found["facts"]["partitions"] == [f"ledger-0={told['lost']}"]
    assert said.code == code
    # The follower was stopped when the earlier snapshot was taken: the ends of the partitions that it led are unknown.
    without = [each for each in said.json["could_not_read"] if "holds no log end of the former leader" in each]
    assert bool(without) == (incident == "power-failure")
    assert "KFX809" not in kfix.diagnose().findings, "without that look nobody knows"


def test_an_earlier_snapshot_of_another_cluster_is_refused(kfix, lab, tmp_path):
    saved = tmp_path / "here.json"
    assert kfix.on("snapshot", "save", saved).code == 0
    text = saved.read_text()
    cluster = kfix.diagnose().json["cluster"]
    other = tmp_path / "other.json"
    Path(other).write_text(text.replace(cluster, "AnotherClusterOfSomebody"))
    said = kfix.diagnose("--before", other)
    assert said.code == 2
    assert "AnotherClusterOfSomebody" in said.err
    assert kfix.diagnose("--before", saved).code == 0
