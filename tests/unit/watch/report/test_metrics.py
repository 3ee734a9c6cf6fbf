"""The metrics of a watch, parsed by Prometheus' own library; what is unknown is absent."""

from __future__ import annotations

import urllib.error
import urllib.request
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kfix.core.diagnosis.finding import Blocked, Cause, Confidence, Diagnosis, Finding, MutedFinding, Severity
from kfix.core.errors import UsageError
from kfix.watch.exporter import Exporter, parse_listen
from kfix.watch.model import ReceiverState, RecorderState, ServerCost, WatchState
from kfix.watch.report.metrics import watch_metrics
from tests.each import for_each

CAUSE = Cause("a test", Confidence.CERTAIN)
FOLDED = Finding("orders-1", "s", CAUSE, code="KFX301")
HEAD = Finding("a", "s", CAUSE, Severity.CRITICAL, "KFX101", blocked=Blocked("", ("g1", "g2")), folded=(FOLDED,))
STATE = WatchState(
    name='odd "name"\nwith\\signs',
    at=100.0,
    every=15.0,
    diagnosis=Diagnosis("c", 100.0, (HEAD,), ("broker 2: timed out",)),
    confirmed=True,
    snapshots=7,
    failures=1,
    complete_at=70.0,
    reading=0.25,
    cpu=1.5,
    memory=40_000_000,
    costs=(ServerCost("broker 1", 14, 70, 1000, 90_000),),
    recorder=RecorderState("/r", 1234, 0.5, 10_000_000, 48.0, "no space left on device"),
    lags={"g1": (120, 4.04), "g2": (7, None)},
    receivers=(ReceiverState("slack", 3, 1, 0, "HTTP status 500"),),
)


def samples(state: WatchState, now: float = 130.0) -> dict[str, dict[tuple[str, ...], float]]:
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(watch_metrics(state, now)):
        for sample in family.samples:
            labels = tuple(value for name, value in sorted(sample.labels.items()) if name != "cluster")
            found.setdefault(sample.name, {})[labels] = sample.value
    return found


def test_every_metric_is_parsed_and_has_its_value() -> None:
    found = samples(STATE)
    assert found["kfix_watch_up"] == {(): 1}
    assert found["kfix_watch_findings"] == {("KFX101", "critical"): 1, ("KFX301", "warning"): 1}
    assert found["kfix_watch_severity_findings"] == {("critical",): 1, ("warning",): 1, ("info",): 0}
    assert found["kfix_watch_blocked_groups"] == {(): 2}
    assert found["kfix_watch_unread_sources"] == {(): 1}
    assert found["kfix_watch_group_lag_records"] == {("g1",): 120, ("g2",): 7}
    assert found["kfix_watch_group_lag_seconds"] == {("g1",): 4.0}
    assert found["kfix_watch_last_complete_snapshot_age_seconds"] == {(): 60}
    assert found["kfix_watch_requests_total"] == {("broker 1",): 70}
    assert found["kfix_watch_received_bytes_total"] == {("broker 1",): 90_000}
    assert found["kfix_watch_recorder_paused"] == {(): 1}
    assert found["kfix_watch_notifications_total"] == {("delivered", "slack"): 3, ("given_up", "slack"): 1}
    assert found["kfix_watch_process_cpu_seconds_total"] == {(): 1.5}


def test_a_group_that_falls_behind_has_a_verdict_once_two_snapshots_show_it() -> None:
    slow = replace(HEAD, code="KFX123", facts={"group": "g3"})
    lags = {**STATE.lags, "g3": (900, 30.0)}
    found = samples(replace(STATE, diagnosis=Diagnosis("c", 100.0, (slow,)), lags=lags))
    assert found["kfix_watch_group_falls_behind"] == {("g1",): 0, ("g3",): 1}, "of g2, no rate is known"


def test_a_lost_cluster_has_no_number_of_findings_and_its_age_grows() -> None:
    lost = samples(replace(STATE, diagnosis=None, confirmed=False), now=1070.0)
    assert lost["kfix_watch_up"] == {(): 0}
    assert "kfix_watch_findings" not in lost
    assert "kfix_watch_severity_findings" not in lost
    assert lost["kfix_watch_last_complete_snapshot_age_seconds"] == {(): 1000}


def test_what_is_muted_and_a_maintenance_window_are_seen_by_who_scrapes() -> None:
    quiet = samples(STATE)
    assert quiet["kfix_watch_muted_findings"] == {("critical",): 0, ("warning",): 0, ("info",): 0}
    assert quiet["kfix_watch_maintenance"] == {(): 0}
    muted = Diagnosis("c", 100.0, (), muted=(MutedFinding(HEAD, "known", "2027-01-01"),), maintenance="restarts")
    found = samples(replace(STATE, diagnosis=muted, maintenance="restarts"))
    assert found["kfix_watch_muted_findings"] == {("critical",): 1, ("warning",): 1, ("info",): 0}
    assert found["kfix_watch_maintenance"] == {(): 1}
    assert "kfix_watch_findings" not in found
    lost = samples(replace(STATE, diagnosis=None, confirmed=False, maintenance="restarts"))
    assert lost["kfix_watch_maintenance"] == {(): 1}
    assert "kfix_watch_muted_findings" not in lost


def test_before_the_first_complete_snapshot_there_is_no_age() -> None:
    assert "kfix_watch_last_complete_snapshot_age_seconds" not in samples(replace(STATE, complete_at=None))


def test_the_exporter_serves_metrics_on_loopback_and_nothing_else() -> None:
    exporter = Exporter(":0", lambda: watch_metrics(STATE, 130.0))
    try:
        assert exporter.url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(exporter.url, timeout=5) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert answer.read().decode() == watch_metrics(STATE, 130.0)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(exporter.url.replace("/metrics", "/etc/passwd"), timeout=5)
        with pytest.raises(urllib.error.HTTPError, match="501"):
            urllib.request.urlopen(exporter.url, b"data", timeout=5)
    finally:
        exporter.close()


def test_a_port_that_is_taken_is_one_clear_line() -> None:
    first = Exporter(":0", str)
    port = first.url.removesuffix("/metrics").rpartition(":")[2]
    with pytest.raises(UsageError, match=rf"--exporter :{port}: address already in use"):
        Exporter(f":{port}", str)
    first.close()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(":9308", ("127.0.0.1", 9308)), ("0.0.0.0:9308", ("0.0.0.0", 9308)), ("[::1]:9308", ("::1", 9308))],
)
def test_loopback_unless_an_address_names_another(text: str, wanted: tuple[str, int]) -> None:
    assert parse_listen(text) == wanted


@for_each("text", ["", "9308", ":", ":99999", ":x", "host:", "a b:1", "::1:9308"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--exporter"):
        parse_listen(text)


def test_a_watch_that_is_stuck_is_not_healthy() -> None:
    works = [True]
    exporter = Exporter(":0", str, lambda: works[0])
    try:
        url = exporter.url.replace("/metrics", "/healthz")
        with urllib.request.urlopen(url, timeout=5) as answer:
            assert (answer.status, answer.read()) == (200, b"ok\n")
        works[0] = False
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(url, timeout=5)
    finally:
        exporter.close()
