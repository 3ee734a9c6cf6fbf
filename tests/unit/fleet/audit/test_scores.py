"""Scores, mutes, maintenance: what counts, how much, and that everything is shown."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from kfix.core.criteria import Expected
from kfix.core.errors import UsageError
from kfix.core.inventory.model import Criticality, Inventory, MaintenanceWindow, Mute
from kfix.fleet.demo.synthetic import write_fleet
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.model.audit import OPEN
from kfix.fleet.questions.tables import tables
from kfix.fleet.store.places import place_of
from tests.unit.fleet.audit_runs import AT, FIRST, cluster, entry, reported
from tests.unit.fleet.audit_runs import audited_without_scenarios as audited

POINTS = {"critical": 40, "warning": 10}


@pytest.fixture
def engine():
    return EmbeddedEngine(1)


def of(report, name):
    return next(c for c in report.clusters if c.cluster == name)


def points(report, name):
    """Worked out from the findings, one by one."""
    total = 0
    for f in report.findings:
        if f.cluster == name and not f.head and not f.muted and f.status in OPEN:
            total += 2 if f.prevention and f.severity == "warning" else POINTS.get(f.severity, 0)
            total += 5 if f.status == "worse" else 0
    return total


def test_a_score_falls_with_the_points_of_open_heads(tmp_path, engine):
    sick = cluster("sick", sick=0.02)
    report = reported(tmp_path, audited(tmp_path, [cluster("well"), sick, cluster("dead", dead=1)], engine), engine)
    for name in ("well", "sick", "dead"):
        assert of(report, name).score == 10_000 // (100 + points(report, name))
    assert of(report, "well").score > of(report, "dead").score > of(report, "sick").score
    assert [c.cluster for c in report.clusters] == ["sick", "dead", "well"]


def test_criticality_orders_the_worries(tmp_path, engine):
    inventory = Inventory(
        {
            "low": entry("low", criticality=Criticality.LOW),
            "high": entry("high", criticality=Criticality.CRITICAL),
        }
    )
    clusters = [cluster("low", dead=1), cluster("high", dead=1)]
    report = reported(tmp_path, audited(tmp_path, clusters, engine, inventory=inventory), engine)
    low, high = of(report, "low"), of(report, "high")
    assert (low.score, high.risk) == (high.score, 4 * low.risk)
    assert report.clusters == (high, low)


def test_what_a_site_expects_is_judged(tmp_path, engine):
    inventory = Inventory(
        {"a": entry("a", expected=Expected(rf=2, min_isr=1)), "b": entry("b", expected=Expected(4, 2))}
    )
    report = reported(tmp_path, audited(tmp_path, [cluster("a"), cluster("b")], engine, inventory=inventory), engine)
    assert {f.cluster for f in report.findings if f.code == "KFX601"} == {"b"}


def test_muted_findings_are_shown_and_do_not_count(tmp_path, engine):
    until = FIRST + timedelta(days=3)
    mutes = (
        Mute(("a*",), ("KFX401",), "being replaced", until, "ann"),
        Mute(("*",), ("KFX302:*",), "was over last week", FIRST - timedelta(days=1)),
    )
    inventory = Inventory({"a": entry("a"), "b": entry("b")}, mutes)
    clusters = [cluster("a", dead=1), cluster("b", dead=1)]
    report = reported(tmp_path, audited(tmp_path, clusters, engine, inventory=inventory), engine)
    muted = [f for f in report.findings if f.muted]
    assert {(f.cluster, f.mute_reason) for f in muted} == {("a", "being replaced")}
    assert {f.key for f in muted if not f.head} == {"KFX401:broker 6"}
    assert {f.key for f in muted if f.head} == {f.key for f in report.findings if f.cluster == "a" and f.head}
    assert of(report, "a").score > of(report, "b").score
    assert of(report, "a").muted == 1
    alive, over = report.mutes
    assert (alive.covers, alive.expired, alive.by, alive.until) == (1, False, "ann", until)
    assert (over.covers, over.expired) == (0, True)


def test_a_mute_lasts_through_its_last_day(tmp_path):
    mute = Mute(("*",), ("*",), "x", date(2026, 3, 2))
    assert (mute.expired(date(2026, 3, 2)), mute.expired(date(2026, 3, 3))) == (False, True)


def test_a_cluster_in_maintenance_is_shown_as_such(tmp_path, engine):
    # The looks are of Monday, 2 o'clock UTC.
    window = MaintenanceWindow("patching", weekdays=frozenset({6}), at=23 * 60, minutes=4 * 60)
    past = MaintenanceWindow("patching", weekdays=frozenset({0}), at=3 * 60, minutes=60)
    inventory = Inventory({"a": entry("a", windows=(window,)), "b": entry("b", windows=(past,))})
    report = reported(tmp_path, audited(tmp_path, [cluster("a"), cluster("b")], engine, inventory=inventory), engine)
    assert (of(report, "a").maintenance, of(report, "b").maintenance) == ("patching", "")


def test_a_run_of_no_cluster_is_refused(tmp_path, engine):
    with pytest.raises(UsageError, match="has no cluster"):
        audited(tmp_path, [], engine)


def test_offenders_are_the_codes_that_most_clusters_fail(tmp_path, engine):
    clusters = [cluster("a", dead=1), cluster("b", dead=1), cluster("c")]
    report = reported(tmp_path, audited(tmp_path, clusters, engine), engine)
    counted = {o.code: (o.clusters, o.findings, o.worst) for o in report.offenders}
    assert counted["KFX401"] == (2, 2, "warning")
    for code, (n, findings, _) in counted.items():
        rows = [f for f in report.findings if f.code == code and f.status in OPEN and not f.muted]
        assert (len({f.cluster for f in rows}), len(rows)) == (n, findings)
    assert {c.code for c in report.checks} >= set(counted)


def test_a_damaged_cluster_is_unknown_and_stops_no_other(tmp_path, engine):
    from kfix.fleet.store.places import place_of
    from kfix.fleet.store.runs import newest_run
    from tests.unit.fleet.audit_runs import again

    audited(tmp_path, [cluster("a"), cluster("b", dead=1)], engine)
    run = newest_run(place_of(tmp_path), FIRST, "n")
    path = Path(run.stored()["a"].partitions)
    with path.open("r+b") as file:
        file.truncate(100)
    report = reported(tmp_path, again(tmp_path, engine), engine)
    assert (of(report, "a").score, of(report, "b").collected) == (-1, True)
    assert f"{path}: is damaged" in of(report, "a").why


def test_the_last_run_of_a_query_is_the_last_by_time_not_by_name(tmp_path):
    for minute, (run, size) in enumerate((("two", 30), ("four", 40), ("one", 50))):
        write_fleet(str(tmp_path), FIRST, run, [cluster("a", partitions=size)], processes=1, at=AT + 60 * minute)
    shown = tables(place_of(tmp_path), days=30, snapshots=2)
    assert {(f.run, f.rows) for f in shown["partitions"].files} == {("one", 50), ("four", 40)}
    assert {f.run for f in tables(place_of(tmp_path), days=30)["partitions"].files} == {"one"}
