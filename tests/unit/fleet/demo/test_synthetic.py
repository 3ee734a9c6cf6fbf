"""Synthetic clusters: repeatable, and row by row what the real derivation makes of the same cluster."""

import itertools
from datetime import date

import pytest

from kfix.core.criteria import Criteria
from kfix.core.errors import UsageError
from kfix.fleet.demo.shapes import NOW, SICKNESSES, SyntheticCluster
from kfix.fleet.demo.synthetic import fleet, snapshot_of, stored_of, write_fleet
from kfix.fleet.judging.case import judge_stored
from kfix.fleet.store.places import place_of
from kfix.fleet.store.rows import stored
from kfix.fleet.store.runs import runs
from kfix_diagnostics.engine import diagnose

SAMPLES = [
    SyntheticCluster("healthy", 600, sick=0),
    SyntheticCluster("sick", 900, sick=0.05, seed=3),
    SyntheticCluster("dead", 700, brokers=6, sick=0.02, dead=1, seed=4),
    SyntheticCluster("tiny", 5, brokers=1, racks=0, sick=0.4, seed=5),
    SyntheticCluster("none", 0),
    SyntheticCluster("later", 500, sick=0.1, day_number=5, seed=6),
    SyntheticCluster("worst", 400, sick=1.0, dead=3),
    SyntheticCluster("scattered", 600, sick=0.02, dead=1, deaths=1, scattered=True),
]


@pytest.mark.parametrize("cluster", SAMPLES, ids=lambda c: c.name)
def test_its_rows_are_those_of_the_real_derivation(cluster):
    table, document = stored_of(cluster)
    wanted, shown = stored(snapshot_of(cluster), cluster.name)
    for name in wanted.schema.names:
        assert table.column(name).to_pylist() == wanted.column(name).to_pylist(), name
    assert table.schema.equals(wanted.schema)
    assert document == shown


@pytest.mark.parametrize("cluster", SAMPLES, ids=lambda c: c.name)
def test_it_is_judged_as_its_snapshot_is(cluster, tmp_path):
    run = write_fleet(str(tmp_path), date(2026, 1, 1), "r", [cluster], processes=1)
    judged = judge_stored(run.stored()[cluster.name])
    assert judged == diagnose(snapshot_of(cluster), criteria=Criteria(prevention=True))


def test_every_sickness_is_found(tmp_path):
    cluster = SyntheticCluster("all", 1000, sick=0.3)
    run = write_fleet(str(tmp_path), date(2026, 1, 1), "r", [cluster], processes=1)
    codes = {f.code for f in judge_stored(run.stored()["all"]).walk()}
    assert {"KFX101", "KFX102", "KFX201", "KFX203", "KFX301", "KFX302", "KFX305"} <= codes
    assert {s.sickness for s in cluster.shapes[0]} >= SICKNESSES.keys()


def test_a_healthy_one_has_no_finding_today(tmp_path):
    run = write_fleet(str(tmp_path), date(2026, 1, 1), "r", [SyntheticCluster("h", 2000, sick=0)], processes=1)
    assert judge_stored(run.stored()["h"], Criteria()).findings == ()


def test_the_same_seed_gives_the_same_fleet():
    one, other = fleet(3, 500, seed=7), fleet(3, 500, seed=7)
    assert one == other
    assert [stored_of(a) for a in one] == [stored_of(b) for b in other]
    assert stored_of(fleet(1, 500, seed=8)[0]) != stored_of(one[0])


def test_a_history_has_what_is_new_what_stays_and_what_is_fixed(tmp_path):
    keys = []
    for look in range(6):
        cluster = SyntheticCluster("x", 3000, sick=0.01, day_number=look)
        run = write_fleet(str(tmp_path), date(2026, 1, 1 + look), "r", [cluster], processes=1)
        judged = judge_stored(run.stored()["x"], Criteria())
        assert judged.taken_at == NOW + look * 86_400
        keys.append({tp for f in judged.walk() for tp in f.partitions})
    for before, after in itertools.pairwise(keys):
        assert before & after
        assert before - after
        assert after - before


@pytest.mark.parametrize("wrong", [{"sick": 1.5}, {"partitions": -1}, {"brokers": 0}, {"dead": 12}, {"racks": -1}])
def test_values_that_make_no_cluster_are_refused(wrong):
    with pytest.raises(UsageError, match="out of range"):
        SyntheticCluster("x", **wrong)


def test_two_clusters_of_one_name_are_refused(tmp_path):
    with pytest.raises(UsageError, match="two clusters of the run are named 'x'"):
        write_fleet(str(tmp_path), date(2026, 1, 1), "r", [SyntheticCluster("x"), SyntheticCluster("x", 5)])
    assert runs(place_of(tmp_path)) == ()
