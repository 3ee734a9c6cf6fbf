"""A stored cluster is judged as the live one is: the same findings, word for word, for any cluster."""

import tempfile
from dataclasses import replace
from datetime import date

import duckdb
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings

from kfix.core.criteria import EXPECTED, Criteria, Expected, values_of
from kfix.core.derive.casefile import CaseFile, open_case
from kfix.core.derive.partition_facts import derive
from kfix.core.derive.partitions import LazyRows
from kfix.core.derive.predicate import parse
from kfix.fleet.demo.shapes import SyntheticCluster
from kfix.fleet.demo.synthetic import write_fleet
from kfix.fleet.judging.case import judge_stored, open_stored
from kfix.fleet.store.mappings import Raw
from kfix.fleet.store.places import place_of
from kfix.fleet.store.staging import RunWriter
from kfix_diagnostics import ALL
from kfix_diagnostics.catalogue import matcher, predicate_of, predicates
from kfix_diagnostics.engine import diagnose
from tests.proofs import hostile
from tests.unit.diagnostics.all_cases import CASES
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.papers import papers


def stored(snapshot, folder):
    writer = RunWriter(place_of(folder), date(2026, 1, 1), "r")
    writer.write("one", snapshot)
    return writer.finish().stored()["one"]


def agree(snapshot, folder):
    table = stored(snapshot, folder)
    for prevention in (False, True):
        assert judge_stored(table, Criteria(prevention=prevention)) == diagnose(
            snapshot, criteria=Criteria(prevention=prevention)
        )
    return table


@pytest.mark.parametrize("name", CASES)
def test_every_case_of_the_catalogue(name, tmp_path):
    """An audit collects clusters; no store has what only a pasted text shows."""
    snapshot = CASES[name]()
    if snapshot.pasted is None:
        agree(snapshot, tmp_path)


@settings(max_examples=max(50, hostile.CASES // 100), deadline=None)
@given(papers())
def test_any_cluster(paper):
    with tempfile.TemporaryDirectory() as folder:
        agree(paper.snapshot(), folder)


@settings(max_examples=max(30, hostile.CASES // 100), deadline=None)
@given(papers())
def test_the_whole_snapshot_comes_back(paper):
    snapshot = paper.snapshot(taken_at=1_800_000_000.1234567)
    with tempfile.TemporaryDirectory() as folder:
        table = stored(snapshot, folder)
        case = open_stored(table)
        assert tuple(case.partitions.where(parse("n_isr >= 0", "all rows"))) == derive(snapshot)
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


@settings(max_examples=max(30, hostile.CASES // 100), deadline=None)
@given(papers())
def test_every_answer_of_the_case_file_is_the_same(paper):
    snapshot = paper.snapshot()
    with tempfile.TemporaryDirectory() as folder:
        case, live = open_stored(stored(snapshot, folder)), open_case(snapshot)
        plain = {n for n, v in vars(CaseFile).items() if not n.startswith("_") and not callable(v)} - {
            "views",
            "samples",
        }
        assert {"odd", "cut", "leads", "preferred", "holds", "moving"} <= plain
        for name in plain:
            assert _plain(getattr(case, name)) == _plain(getattr(live, name)), name
        assert {(f.leader, frozenset(case.isr(f.tp))) for f in case.samples} == {
            (f.leader, frozenset(live.isr(f.tp))) for f in live.samples
        }
        for broker in range(-1, 7):
            assert case.absence(broker) == live.absence(broker)
            assert case.restarting(broker) == live.restarting(broker)
        for fact in derive(snapshot):
            for ask in ("state", "views_of", "assignment", "isr", "log_ends", "unclean_winner"):
                assert getattr(case, ask)(fact.tp) == getattr(live, ask)(fact.tp)


def _plain(answer):
    return tuple(answer) if isinstance(answer, LazyRows) else answer


@settings(max_examples=max(40, hostile.CASES // 100), deadline=None)
@given(papers())
def test_a_check_is_given_the_same_rows(paper):
    snapshot = paper.snapshot()
    with tempfile.TemporaryDirectory() as folder:
        case, live = open_stored(stored(snapshot, folder)), open_case(snapshot)
        for condition in filter(None, map(predicate_of, ALL)):
            rows = live.partitions.where(condition)
            assert tuple(case.partitions.where(condition)) == tuple(rows), condition.text
            assert case.partitions.count(condition) == live.partitions.count(condition) == len(rows)


def test_what_is_expected_of_the_cluster_and_the_grace_are_handed_on(tmp_path):
    snapshot = base().kill(3, 200).snapshot()
    table = stored(snapshot, tmp_path)
    for rf, min_isr, grace in ((2, 1, 120.0), (3, 3, 300.0)):
        criteria = Criteria(restart_grace=grace, prevention=True, expected=Expected(rf, min_isr))
        assert judge_stored(table, criteria) == diagnose(snapshot, criteria=criteria)


def test_a_condition_is_sql_over_the_stored_facts_as_it_stands(tmp_path):
    clusters = {name: make() for name, make in CASES.items() if "incident" in name or "at-risk" in name}
    writer = RunWriter(place_of(tmp_path), date(2026, 1, 1), "r")
    for name, snapshot in clusters.items():
        writer.write(name, snapshot)
    writer.finish()
    matched = [matcher()(derive(snapshot)) for snapshot in clusters.values()]
    expected = ", ".join(f"{value} AS {name}" for name, value in values_of(EXPECTED).items())
    with duckdb.connect() as db:
        files = DeltaTable(str(tmp_path / "tables" / "partitions")).file_uris()
        assert len(files) == len(clusters)
        db.execute(f"CREATE VIEW p AS SELECT *, {expected} FROM read_parquet({files!r})")
        for i, condition in enumerate(predicates()):
            sql = f"SELECT count(*) FROM p WHERE {condition.text}"
            assert db.execute(sql).fetchall() == [(sum(len(hits[i]) for hits in matched),)], condition.text


def test_a_healthy_cluster_makes_no_objects_of_its_partitions(tmp_path, monkeypatch):
    table = stored(base().snapshot(), tmp_path)
    for reading in ("fetch", "_slice"):
        monkeypatch.setattr(f"kfix.fleet.store.mappings.Raw.{reading}", lambda *_: pytest.fail("read a partition"))
    assert judge_stored(table, Criteria()).findings == ()


def test_a_sick_cluster_makes_objects_of_the_sick_partitions_only(tmp_path, monkeypatch):
    cluster = SyntheticCluster("one", 2000, sick=0.01)
    table = write_fleet(str(tmp_path), date(2026, 1, 1), "r", [cluster], processes=1).stored()["one"]
    fetch, fetched = Raw.fetch, []
    monkeypatch.setattr(Raw, "fetch", lambda raw, rows: fetched.extend(rows) or fetch(raw, rows))
    monkeypatch.setattr(Raw, "all", lambda *_: pytest.fail("walked through all partitions"))
    assert judge_stored(table, Criteria()).findings
    assert len(fetched) == len(set(fetched)) < 300
