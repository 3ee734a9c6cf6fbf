"""What `kfix audit history` and the report of an audit answer about twenty days whose history is known."""

import csv
import io
import json
import shutil
from datetime import timedelta

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from kfix.fleet.audit.reading import LIMITS, stored_history, stored_report
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.model.history import HistoryChoice, of_state
from kfix.fleet.report.history import history_lines
from kfix.fleet.store.places import place_of
from kfix.front.lines import lines_text
from kfix.shell.app import app
from kfix_diagnostics.prevention.kfx611_many_partitions import PER_BROKER, PER_CLUSTER
from tests.proofs.fleet.twenty import DAYS, DOWN, PART, UNREAD, deaths, twenty_days
from tests.unit.fleet.audit_runs import audited_without_scenarios as audited
from tests.unit.fleet.audit_runs import cluster, day_of

# One worker makes the store of twenty days, which all these tests read.
pytestmark = pytest.mark.xdist_group("twenty-days")
LAGS = "KFX401:broker 6"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("twenty") / "store"
    twenty_days(root)
    return root


@pytest.fixture(scope="module")
def found(store):
    return stored_history(place_of(store), EmbeddedEngine(1), HistoryChoice(), days=90)


def episodes(found, key=LAGS, name="a"):
    return sorted((e for e in found.episodes if (e.cluster, e.key) == (name, key)), key=lambda e: e.began)


def test_every_episode_of_the_broker_is_found_with_its_bounds(found):
    told = [
        (e.not_before and e.not_before.date(), e.began.date(), e.last_seen.date(), e.ended and e.ended.date(), e.state)
        for e in episodes(found)
    ]
    # Unread days and the audit of a part end nothing; the broker that is down on the last day still is.
    assert told == [
        (day_of(2), day_of(3), day_of(5), day_of(6), "ended"),
        (day_of(8), day_of(9), day_of(9), day_of(10), "ended"),
        (day_of(13), day_of(14), day_of(16), day_of(17), "ended"),
        (day_of(18), day_of(19), day_of(19), None, "open"),
    ]
    assert [(e.audits, e.unread, e.reopened) for e in episodes(found)] == [(2, 1, 0), (1, 0, 1), (2, 1, 2), (1, 0, 3)]
    assert {e.owner for e in episodes(found)} == {"team-a"}
    [mttr] = [r for r in found.repair_times if (r.by, r.name) == ("code", "KFX401")]
    days = 86_400
    assert (mttr.ended, mttr.open, mttr.median, mttr.low, mttr.high) == (3, 1, 3 * days, 2 * days, 4 * days)


def test_changes_are_those_of_the_broker(store, found):
    rows = DeltaTable(str(store / "tables" / "transitions")).to_pyarrow_table().to_pylist()
    seen = {(r["day"], r["kind"]) for r in rows if r["cluster"] == "a" and r["object"] == "6"}
    assert seen == {
        *((day_of(n), "gone") for n in (3, 9, 14, 19)),
        *((day_of(n), "back") for n in (6, 10, 17)),
    }
    # The unread day is bridged: what changed since the last time that the cluster was read, and when that was.
    [bridged] = [r for r in rows if (r["cluster"], r["kind"], r["object"], r["day"]) == ("a", "back", "6", day_of(6))]
    assert (bridged["previous_day"], bridged["seconds"], bridged["rack"]) == (day_of(5), 86_400, "rack-0")
    states = DeltaTable(str(store / "tables" / "partition_changes")).to_pyarrow_table().to_pylist()
    led = [r for r in states if r["cluster"] == "a" and r["why"] == "leader"]
    assert all(r["leader_before"] != r["leader"] and 6 in (r["leader_before"], r["leader"]) for r in led)
    assert {r["day"] for r in led} == {day_of(n) for n in (3, 6, 9, 10, 14, 17, 19)}
    assert len(led) == deaths(DAYS - 1) * len({(r["topic"], r["partition"]) for r in led})
    [churn] = [c for c in found.churn if c.cluster == "a"]
    assert churn.leader == pytest.approx(len(led) / (DAYS - 1), abs=1e-3)
    flapping = {(f.kind, f.name): (f.changes, f.days) for f in found.flapping if f.cluster == "a"}
    assert flapping["broker", "6"] == (7, 7)
    assert {("broker", "a", "6"), ("rack", "a", "rack-0")} <= {(o.by, o.cluster, o.name) for o in found.offenders}


def test_unread_renamed_and_left_out_clusters_are_named(store, found):
    assert (found.audits, found.first, found.last) == (DAYS, day_of(0), day_of(DAYS - 1))
    assert (found.left, found.unread) == (("old",), ())
    # What was open when the name was last read is unknown, not open and not fixed.
    assert {e.state for e in found.episodes if e.cluster == "old"} == {"unknown"}
    assert {e.state for e in found.episodes if e.cluster == "b"} <= {"open", "ended"}
    part = stored_report(place_of(store), EmbeddedEngine(1), day=day_of(PART)).history
    assert set(part.left) == {"a", "old", "new"}
    assert {e.state for e in part.episodes if e.cluster == "a" and e.prevention} == {"open"}
    away = stored_report(place_of(store), EmbeddedEngine(1), day=day_of(15)).history
    assert away.unread == ("a",)
    assert [e.state for e in episodes(away)] == ["ended", "ended", "unknown"]
    assert away.score.clusters == 2


def test_growth_is_that_of_the_cluster_and_its_limits_those_of_the_check(found):
    assert (LIMITS.per_broker, LIMITS.per_cluster) == (PER_BROKER, PER_CLUSTER)
    grown = {g.measure: g for g in found.growth if g.cluster == "b"}
    assert (grown["partitions"].per_day, grown["partitions"].value) == (6.0, 60 + 6 * (DAYS - 1))
    assert (grown["replicas"].per_day, grown["replicas"].limit) == (18.0, PER_CLUSTER)
    assert grown["replicas"].expected is None
    assert 2 < grown["replicas of a broker"].per_day < 4
    assert all(g.low <= g.per_day <= g.high for g in found.growth)


def test_the_report_shows_the_same_history_and_the_score_of_both(store, found):
    report = stored_report(place_of(store), EmbeddedEngine(1), days=90)
    assert report.history == found
    before, now = (
        sum(c.points for c in stored_report(place_of(store), EmbeddedEngine(1), day=day_of(n)).clusters)
        for n in (DAYS - 2, DAYS - 1)
    )
    scores = [int(1_000_000 / (100 + points / 3)) / 100 for points in (before, now)]
    assert [found.score.before, found.score.now] == scores
    assert found.score.change < 0


def test_a_choice_shows_its_part_only(store, found):
    def chosen(*options):
        said = CliRunner().invoke(app, ["audit", "history", "--store", str(store), "--json", *options])
        assert said.exit_code == 0, said.output
        return json.loads(said.stdout)

    whole = chosen()
    assert (whole["schema"], len(whole["episodes"])) == ("kfix.history/v1", len(found.episodes))
    assert whole["score"] == {
        "day": str(found.score.day), "run": "n", "clusters": 3, "before": found.score.before,
        "now": found.score.now, "change": found.score.change,
    }  # fmt: skip
    only = chosen("--owner", "team-a")
    assert {e["cluster"] for e in only["episodes"]} == {c["cluster"] for c in only["churn"]} == {"a"}
    assert (only["clusters"], only["score"]) == (1, None)
    assert {e["cluster"] for e in chosen("-c", "[ob]*")["episodes"]} == {"old", "b"}
    code = chosen("--code", "kfx401", "--days", "8")
    assert {(e["key"], e["state"]) for e in code["episodes"]} == {(LAGS, "ended"), (LAGS, "open")}
    assert (code["audits"], code["churn"], code["growth"], code["flapping"]) == (8, [], [], [])
    said = CliRunner().invoke(app, ["audit", "history", "--store", str(store), "--csv", "--code", "KFX401"])
    rows = [*csv.DictReader(io.StringIO(said.stdout))]
    assert [(r["state"], r["seconds"]) for r in rows] == [("open", ""), *[("ended", s) for s in _seconds(3, 1, 3)]]


def _seconds(*days):
    return [str(86_400.0 * n) for n in days]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--code", "KFX999"], "there is no check 'KFX999'"),
        (["--cluster", "nothing"], "no cluster of these audits matches 'nothing'"),
        (["--owner", "team-c"], "did you mean 'team-"),
        (["--json", "--csv"], "use either --json or --csv"),
    ],
)
def test_a_choice_that_matches_nothing_is_one_line(store, options, why):
    said = CliRunner().invoke(app, ["audit", "history", "--store", str(store), *options])
    assert said.exit_code == 2
    assert why in said.output
    assert "Traceback" not in said.output


def test_the_page_shows_what_is_open_first(found):
    text = lines_text(history_lines(found), 120)
    lines = text.splitlines()
    still, ended = len(of_state(found.episodes, "open")), len(of_state(found.episodes, "ended"))
    assert f"history of 4 clusters: {still} findings open" in lines[0]
    assert f"{ended} ended" in lines[0]
    assert lines[1] == f"20 audits, {day_of(0)} to {day_of(DAYS - 1)}"
    assert "1 cluster not part of the last audit: renamed, removed, or not chosen: old" in text
    assert f"  WARNING {LAGS} on a (team-a): since {day_of(19)}, in 1 audit; reopened, 3 earlier episodes" in text
    assert "broker 6 of a: 0.4 changes a day, 7 on 7 days (gone 4, back 3)" in text
    assert "b: 174 partitions, +6.00 a day (+6.00 to +6.00) over 19 days" in text
    assert max(map(len, lines)) <= 120


def test_one_audit_and_none(tmp_path):
    said = CliRunner().invoke(app, ["audit", "history", "--store", str(tmp_path)])
    assert (said.exit_code, "no audit" in said.output) == (2, True)
    audited(tmp_path / "s", [cluster("a", dead=1)], EmbeddedEngine(1))
    said = CliRunner().invoke(app, ["audit", "history", "--store", str(tmp_path / "s")])
    assert said.exit_code == 0
    assert f"1 audit, {day_of(0)}; one audit shows no change" in said.output
    assert f"since {day_of(0)} or earlier" in said.output
    assert "flapping" not in said.output


def test_a_damaged_part_is_named_and_the_rest_is_shown(store, tmp_path):
    copy = shutil.copytree(store, tmp_path / "store")
    [file] = (copy / "tables" / "transitions" / f"day={day_of(5)}").rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:40])
    said = CliRunner().invoke(app, ["audit", "history", "--store", str(copy)])
    assert said.exit_code == 0
    assert "not read, so not part of this history:" in said.output
    assert "churn: " in said.output
    assert "time to repair" in said.output
    assert UNREAD < DOWN


def test_an_earlier_audit_whose_score_cards_are_damaged_is_left_out_and_named(store, found, tmp_path):
    copy = shutil.copytree(store, tmp_path / "store")
    [file] = (copy / "tables" / "clusters" / f"day={day_of(5)}").rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:40])
    report = stored_report(place_of(copy), EmbeddedEngine(1), days=90)
    assert report.history.audits == DAYS - 1
    assert any(file.name in line for line in report.history.incomplete)
    assert [(e.began, e.ended) for e in episodes(report.history)] == [(e.began, e.ended) for e in episodes(found)]


def test_the_history_of_an_earlier_audit_knows_nothing_of_later_ones(store, found):
    then = stored_report(place_of(store), EmbeddedEngine(1), day=day_of(9), days=90).history
    assert (then.audits, then.last) == (10, day_of(9))
    assert [e.state for e in episodes(then)] == ["ended", "open"]
    assert all(e.began.date() <= day_of(9) for e in then.episodes)
    assert then.now - found.now == timedelta(days=-10)
