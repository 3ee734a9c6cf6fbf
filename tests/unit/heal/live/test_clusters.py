"""The snapshot that a cluster is opened with is judged before the first change, once, and only if it is fresh."""

import pytest

from kfix.core.access import Access
from kfix.core.timing import DiagnosisTimes
from kfix.heal.live import clusters as live
from kfix.heal.live.clusters import LiveClusters
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.clusters import base

ACCESS = Access("localhost:9092")


@pytest.fixture
def read(monkeypatch):
    """What was read: the options of each reading, instead of a cluster."""
    found = []
    monkeypatch.setattr(live, "read_cluster", lambda _, **options: found.append(("open", options)) or base().snapshot())
    monkeypatch.setattr(live, "open_cluster", lambda _, snapshot: snapshot)
    monkeypatch.setattr(live, "diagnose_once", lambda *_: found.append(("once", {})) or diagnose(base().snapshot()))
    return found


def test_a_fresh_snapshot_is_judged_once(read):
    clusters = LiveClusters()
    clusters.open(ACCESS)
    # Through `read_cluster`, which knows the brokers of earlier snapshots: a cut may be seen by them only.
    assert read == [("open", {"keep": False})]
    assert clusters.findings_before_change(ACCESS, DiagnosisTimes()) == ()
    assert len(read) == 1
    clusters.findings_before_change(ACCESS, DiagnosisTimes())
    assert read[1:] == [("once", {})]


def test_an_old_snapshot_or_one_of_another_cluster_is_not_judged(read, monkeypatch):
    clusters = LiveClusters()
    clusters.open(ACCESS)
    clusters.findings_before_change(Access("localhost:9093"), DiagnosisTimes())
    assert read[1:] == [("once", {})]
    monkeypatch.setattr(live, "_FRESH_SECONDS", -1.0)
    clusters.open(ACCESS)
    clusters.findings_before_change(ACCESS, DiagnosisTimes())
    assert [what for what, _ in read] == ["open", "once", "open", "once"]
