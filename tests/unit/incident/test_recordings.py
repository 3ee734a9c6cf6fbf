"""A post-mortem from a recording alone: the first symptom, the cause and the end, and no election taken for a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from kfix.core.errors import UsageError
from kfix.diagnose.snapshots import save_snapshot
from kfix.incident.files import IncidentRequest, make_report
from tests.unit.core.recorder.test_ring import Times, record
from tests.unit.diagnostics.build import NOW
from tests.unit.watch.test_watching import fresh, healthy


def test_the_first_symptom_comes_from_the_ring(tmp_path: Path) -> None:
    times = Times()
    recorder = times.recorder(tmp_path / "ring")
    for second in range(0, 900, 15):
        shown = fresh(95, 1) if 100 <= second < 200 else fresh(599, 1) if second == 600 else healthy()
        record(recorder, [shown], times)
        if second == 300:
            recorder.remark("lost", "refused")
    report = make_report(IncidentRequest((), (tmp_path / "ring",)))
    assert report.summary.verdict == "resolved"
    assert report.summary.began is not None
    assert report.summary.began.at == pytest.approx(NOW + 95, abs=1)
    assert [(c.code, c.severity) for c in report.causes] == [("KFX102", "critical")]
    assert any(e.text == "the watch lost the cluster: refused" for e in report.events)
    [source] = report.sources
    assert source.kind == "recorder"
    assert "60 snapshots of the period" in source.content
    assert len(report.snapshots) < 20


def test_any_hour_can_be_reported(tmp_path: Path) -> None:
    times = Times()
    recorder = times.recorder(tmp_path / "ring")
    record(recorder, [fresh(95, 1) if 7 <= n < 14 else healthy() for n in range(60)], times)
    later = IncidentRequest((), (tmp_path / "ring",), since=NOW + 300, until=NOW + 600)
    assert make_report(later).summary.verdict == "no findings in any snapshot"
    with pytest.raises(UsageError, match="holds no snapshot of this period"):
        make_report(IncidentRequest((), (tmp_path / "ring",), since=NOW + 9000))


def test_a_recording_and_a_saved_snapshot_are_two_vantages_in_order_of_time(tmp_path: Path) -> None:
    times = Times()
    record(times.recorder(tmp_path / "ring"), [healthy()] * 4, times)
    save_snapshot(fresh(20, 7), tmp_path / "later.json")
    report = make_report(IncidentRequest((str(tmp_path / "later.json"),), (tmp_path / "ring",)))
    assert {s.vantage for s in report.snapshots} == {str(tmp_path / "ring"), str(tmp_path)}
    assert [s.at for s in report.snapshots] == sorted(s.at for s in report.snapshots)


def test_a_clock_that_was_set_is_an_open_question(tmp_path: Path) -> None:
    times = Times()
    recorder = times.recorder(tmp_path / "ring")
    record(recorder, [healthy()] * 4, times)
    times.now -= 1800
    record(recorder, [healthy()] * 4, times)
    report = make_report(IncidentRequest((), (tmp_path / "ring",)))
    assert any("the clock of this host was set back by 1800 s" in each for each in report.questions)
    assert report.until - report.since < 200
