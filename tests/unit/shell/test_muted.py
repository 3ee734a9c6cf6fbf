"""Mutes, maintenance windows and expected settings of the inventory apply to `diagnose -c NAME` as to the audit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.inventory import trust
from kfix.core.inventory.model import ClusterEntry, MaintenanceWindow, Mute
from kfix.core.inventory.muting import as_listed
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import TIMING
from kfix.diagnose.report.formats import Format
from kfix.diagnose.report.junit import findings_junit
from kfix.diagnose.report.metrics import findings_metrics
from kfix.diagnose.report.sarif import findings_sarif
from kfix.diagnose.report.screen import MOST_LINES, screen_lines
from kfix.diagnose.report.table import findings_text
from kfix.diagnose.report.verdict import exit_code, nagios_line
from kfix.fleet.audit.concluding import Rules, muted
from kfix.fleet.audit.judging import rows_of
from kfix.front.lines import lines_text
from tests.each import for_each
from tests.unit.diagnose.report.machine import rules, seen, valid_junit, valid_sarif
from tests.unit.diagnostics.clusters import coordinator_stuck
from tests.unit.diagnostics.test_incidents import INCIDENTS
from tests.unit.shell.test_contexts import Site

HEAD = "apiVersion: kfix/v1\nkind: Fleet\nclusters:\n  shop:\n    bootstrap: localhost:1\n"
FAR = date(2099, 12, 31)
ENTRY = ClusterEntry("shop")


def mute(*findings: str, clusters: str = "*", until: date = FAR) -> Mute:
    return Mute((clusters,), findings, "known since May", until, "ann")


def listed(name: str, *mutes: Mute, entry: ClusterEntry = ENTRY, prevention: bool = False) -> Diagnosis:
    return as_listed(seen(name, prevention=prevention), entry, mutes)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Site]:
    for folder in ("work", "config/kfix", "state"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(trust, "HOST", tmp_path / "etc")

    def made(more: str, snapshot: Callable[[], Snapshot] = lambda: coordinator_stuck().snapshot()) -> Site:
        (tmp_path / "config" / "kfix" / "fleet.yaml").write_text(HEAD + more)
        one = Site(tmp_path)
        one.cluster.seen = snapshot
        return one

    return made


MUTED = "mutes:\n  - {clusters: [shop], findings: ['*'], reason: known since May, by: ann, until: 2099-12-31}\n"


def test_a_muted_finding_is_listed_and_counted_and_is_never_healthy(site: Callable[..., Site]) -> None:
    one = site(MUTED)
    code, out, err = one.run("diagnose", "-c", "shop")
    assert code == 0, err
    first = out.splitlines()[0]
    assert "healthy" not in out.replace("healthy groups", "")
    assert "no alarm, but " in first
    assert "muted" in first
    assert "muted by the inventory:" in out
    assert "known since May; until 2099-12-31, by ann" in " ".join(out.split())
    # By its address, the inventory does not apply.
    assert one.run("diagnose", "--bootstrap-server", "localhost:1")[0] == 21
    assert one.run("diagnose", "-c", "shop", "--group", "billing")[0] != 0


def test_what_is_not_muted_still_counts(site: Callable[..., Site]) -> None:
    one = site(MUTED.replace("'*'", "KFX6*"))
    assert one.run("diagnose", "-c", "shop")[0] == 21


def test_in_a_maintenance_window_nothing_counts_and_everything_is_shown(site: Callable[..., Site]) -> None:
    taken = datetime.fromtimestamp(coordinator_stuck().snapshot().taken_at, UTC)
    start, end = (t.strftime("%Y-%m-%dT%H:%MZ") for t in (taken - timedelta(hours=1), taken + timedelta(hours=1)))
    window = f"    windows: [{{why: upgrade, start: '{start}', end: '{end}'}}]\n"
    one = site(window)
    code, out, _ = one.run("diagnose", "-c", "shop")
    assert code == 0
    assert "in maintenance (upgrade): 1 critical" in out.splitlines()[0]
    assert "KFX101" in out
    code, out, _ = one.run("diagnose", "-c", "shop", "--nagios")
    assert (code, out.startswith("KFIX OK - "), "in maintenance (upgrade): KFX101" in out) == (0, True, True)
    said = json.loads(one.run("diagnose", "-c", "shop", "--json")[1])
    assert (said["maintenance"], said["exit_code"], said["worst"]) == ("upgrade", 0, "critical")


def test_expected_settings_and_the_restart_grace_are_those_of_the_inventory(site: Callable[..., Site]) -> None:
    one = site("    expected: {rf: 2, min_isr: 1}\n    restart_grace: 7m\n")
    one.run("diagnose", "-c", "shop")
    [options] = one.cluster.options
    assert (options.expected.rf, options.expected.min_isr, options.restart_grace) == (2, 1, 420.0)
    one.run("diagnose", "-c", "shop", "--restart-grace", "3")
    assert one.cluster.options[-1].restart_grace == 3.0
    one.run("diagnose", "--bootstrap-server", "localhost:1")
    assert one.cluster.options[-1].restart_grace == TIMING.restart_grace


@for_each("name", INCIDENTS)
@for_each("patterns", [("*",), ("KFX1*",), ("KFX3*", "KFX4*"), ("KFX302:*",), ("KFX999",)])
@for_each("clusters", ["*", "shop", "other"])
def test_the_audit_mutes_the_same_findings(name: str, patterns: tuple[str, ...], clusters: str) -> None:
    diagnosis, given = seen(name, prevention=True), mute(*patterns, clusters=clusters)
    rows = [r for head in diagnosis.findings for r in rows_of("shop", head, date(2027, 1, 1))]
    of_the_audit = {r.key for r in muted(rows, Rules(date(2027, 1, 1), (given,))) if r.muted}
    apart = as_listed(diagnosis, ENTRY, (given,))
    assert {f.key for m in apart.muted for f in m.finding.walk()} == of_the_audit
    assert {f.key for f in apart.walk()} == {r.key for r in rows} - of_the_audit


def test_an_expired_mute_covers_nothing_and_is_a_note() -> None:
    old = mute("*", until=date(2020, 1, 1))
    found = listed("coordinator-stuck", old)
    assert found.muted == ()
    assert "the mute of * expired on 2020-01-01 and covers nothing" in found.notes
    assert listed("coordinator-stuck", replace(old, clusters=("other",))).notes == seen("coordinator-stuck").notes


def test_a_source_that_was_not_read_cannot_be_muted() -> None:
    found = listed("unread-zookeeper", mute("*"))
    assert exit_code(found) == 22
    assert "UNKNOWN" in nagios_line(found)
    assert "not read:" in findings_text(found)


@for_each("name", INCIDENTS)
@for_each("at_work", [False, True])
@for_each("wanted", Format)
def test_no_format_shows_more_than_the_verdict(name: str, at_work: bool, wanted: Format) -> None:
    windows = (MaintenanceWindow("upgrade", weekdays=frozenset(range(7)), minutes=1440),) if at_work else ()
    found = listed(name, mute("*"), entry=replace(ENTRY, windows=windows), prevention=True)
    every = {f.key for f in seen(name, prevention=True).walk() if f.code != "KFX901"}
    if wanted is Format.SARIF:
        run = valid_sarif(findings_sarif(found, rules(prevention=True)))
        assert {r["properties"]["key"] for r in run["results"]} == every
        assert all(r["suppressions"][0]["justification"] for r in run["results"])
    if wanted is Format.JUNIT:
        suite = valid_junit(findings_junit(found, rules(prevention=True)))
        assert suite.get("failures") == "0"
        assert (suite.get("errors") == "0") == (at_work or not found.could_not_read)
        if every:
            assert int(suite.get("skipped")) > 0 or found.could_not_read
    if wanted is Format.PROMETHEUS:
        text = findings_metrics(found)
        assert f'kfix_diagnosis_maintenance{{cluster="{found.cluster}"}} {int(at_work)}\n' in text
        assert f'kfix_diagnosis_muted_findings{{cluster="{found.cluster}"}} {len(found.muted)}\n' in text
    if wanted is Format.TEXT:
        said = lines_text(screen_lines(found, 100), 100)
        if found.muted:
            assert "healthy" not in said.splitlines()[0]
        if not found.could_not_read:
            assert said.count("\n") <= MOST_LINES


def test_the_line_of_a_plugin_states_that_findings_are_muted() -> None:
    line = nagios_line(listed("coordinator-stuck", mute("*")))
    assert line.startswith("KFIX OK - ")
    assert "no alarm; " in line
    assert "muted" in line
    assert "nothing found" not in line


def test_the_names_of_racks_in_the_inventory_are_those_of_a_diagnosis_by_name(site: Callable[..., Site]) -> None:
    one = site("    zones: {az1: Hamburg}\n")
    one.run("diagnose", "-c", "shop")
    one.run("diagnose", "--bootstrap-server", "localhost:1")
    assert [options.zones for options in one.cluster.options] == [{"az1": "Hamburg"}, {}]
    assert "az1: Hamburg" in one.run("context", "show", "shop")[1]
    assert json.loads(one.run("context", "show", "shop", "--json")[1])["contexts"][0]["zones"] == {"az1": "Hamburg"}
