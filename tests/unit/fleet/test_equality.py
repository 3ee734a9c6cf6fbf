"""A stored cluster is judged as the live one is: the same findings, word by word, whatever the cluster looks like."""

import tempfile
from dataclasses import replace
from datetime import date
from functools import partial

import duckdb
import pytest
from hypothesis import given, settings

from kfix.adapters.fleet import judge as judging
from kfix.adapters.fleet.case import StoredCase, StoredCluster, open_stored
from kfix.adapters.fleet.places import place_of
from kfix.adapters.fleet.runs import RunWriter
from kfix.adapters.memory.incidents import ALL as MEMORY
from kfix.app.fleet import judge_stored
from kfix.derive.casefile import CaseFile, open_case
from kfix_diagnostics.catalogue import matcher, predicates
from kfix_diagnostics.engine import Options, diagnose
from tests.unit.diagnostics.cases import SICK, WELL
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.prevention_cases import SICK as AT_RISK
from tests.unit.diagnostics.prevention_cases import WELL as SAFE
from tests.unit.diagnostics.test_any_cluster import papers
from tests.unit.diagnostics.test_incidents import INCIDENTS


def in_memory(name):
    return MEMORY[name]().cluster.snapshot()


CASES = {
    **{f"{code}-sick-{i}": case.make for code, cases in SICK.items() for i, case in enumerate(cases)},
    **{f"{code}-well-{i}": make for code, makes in WELL.items() for i, make in enumerate(makes)},
    **{f"{code}-at-risk-{i}": case.make for code, cases in AT_RISK.items() for i, case in enumerate(cases)},
    **{f"{code}-safe-{i}": make for code, makes in SAFE.items() for i, make in enumerate(makes)},
    **{f"incident-{name}": make for name, (make, _) in INCIDENTS.items()},
    **{f"memory-{name}": partial(in_memory, name) for name in MEMORY},
}


def stored(snapshot, folder):
    writer = RunWriter(place_of(folder), date(2026, 1, 1), "r")
    writer.write("one", snapshot)
    return writer.finish().table("one")


def agree(snapshot, folder):
    table = stored(snapshot, folder)
    for prevention in (False, True):
        assert judge_stored(table, prevention=prevention) == diagnose(snapshot, options=Options(prevention=prevention))
    return table


@pytest.mark.parametrize("name", CASES)
def test_every_case_of_the_catalogue(name, tmp_path):
    agree(CASES[name](), tmp_path)


@settings(max_examples=150, deadline=None)
@given(papers())
def test_any_cluster(paper):
    with tempfile.TemporaryDirectory() as folder:
        agree(paper.snapshot(), folder)


@settings(max_examples=60, deadline=None)
@given(papers())
def test_the_whole_snapshot_comes_back(paper):
    snapshot = paper.snapshot(taken_at=1_800_000_000.1234567)
    with tempfile.TemporaryDirectory() as folder:
        table = stored(snapshot, folder)
        case, live = open_stored(StoredCluster(table), 120.0), open_case(snapshot)
        assert tuple(case.facts) == live.facts
        assert case.facts[0:2] == list(live.facts[0:2])
        found = case.snapshot
        assert {b: dict(v.partitions) for b, v in found.views.items()} == {
            b: v.partitions for b, v in snapshot.views.items()
        }
        assert [len(v.partitions) for v in found.views.values()] == [len(v.partitions) for v in snapshot.views.values()]
        if snapshot.zookeeper is not None:
            assert dict(found.zookeeper.states) == snapshot.zookeeper.states
            assert dict(found.zookeeper.assignments) == snapshot.zookeeper.assignments
        bare = {"views": {}, "zookeeper": None}
        assert replace(found, **bare) == replace(snapshot, **bare)


@settings(max_examples=60, deadline=None)
@given(papers())
def test_every_answer_of_the_case_file_is_the_same(paper):
    snapshot = paper.snapshot()
    with tempfile.TemporaryDirectory() as folder:
        case, live = open_stored(StoredCluster(stored(snapshot, folder)), 120.0), open_case(snapshot)
        plain = [n for n, v in vars(CaseFile).items() if not n.startswith("_") and not callable(v) and n != "facts"]
        whole = case.looking_at(())
        for name in plain:
            if name in {"snapshot", "background", "views"}:
                continue
            assert getattr(whole, name) == getattr(live, name), name
        for broker in range(-1, 7):
            assert case.gone_for(broker) == live.gone_for(broker)
            assert case.restarting(broker) == live.restarting(broker)
        for fact in live.facts:
            for ask in ("state", "views_of", "assignment", "isr", "log_ends", "unclean_winner"):
                assert getattr(case, ask)(fact.tp) == getattr(live, ask)(fact.tp)


@settings(max_examples=80, deadline=None)
@given(papers())
def test_the_rows_that_a_check_walks_through_are_enough(paper):
    with tempfile.TemporaryDirectory() as folder:
        table = stored(paper.snapshot(), folder)
        fast = judge_stored(table)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(judging, "walk_of", lambda *_: None)
            assert judge_stored(table) == fast


def test_what_is_expected_of_the_cluster_and_the_grace_are_handed_on(tmp_path):
    snapshot = base().kill(3, 200).snapshot()
    table = stored(snapshot, tmp_path)
    for rf, min_isr, grace in ((2, 1, 120.0), (3, 3, 300.0)):
        options = Options(restart_grace=grace, prevention=True, expected_rf=rf, expected_min_isr=min_isr)
        judged = judge_stored(table, restart_grace=grace, expected_rf=rf, expected_min_isr=min_isr)
        assert judged == diagnose(snapshot, options=options)


def test_sql_over_the_stored_facts_picks_the_rows_that_the_loop_picks(tmp_path):
    clusters = {name: make() for name, make in CASES.items() if "incident" in name or "at-risk" in name}
    writer = RunWriter(place_of(tmp_path), date(2026, 1, 1), "r")
    for name, snapshot in clusters.items():
        writer.write(name, snapshot)
    matched = [matcher()(open_case(snapshot).facts) for snapshot in clusters.values()]
    with duckdb.connect() as db:
        for i, condition in enumerate(predicates()):
            sql = f"SELECT count(*) FROM read_parquet('{writer.place}/partitions/*.parquet') WHERE {condition.to_sql()}"
            assert db.execute(sql).fetchall() == [(sum(len(hits[i]) for hits in matched),)], condition.text


def test_a_healthy_cluster_makes_no_row_objects(tmp_path, monkeypatch):
    table = stored(base().snapshot(), tmp_path)
    made = []
    monkeypatch.setattr(
        "kfix.adapters.fleet.lazy.StoredFacts._more", lambda *_: made.append(1) or pytest.fail("walked through all")
    )
    assert judge_stored(table, prevention=False).findings == ()
    assert isinstance(open_stored(StoredCluster(table), 1.0), StoredCase)
    assert made == []
