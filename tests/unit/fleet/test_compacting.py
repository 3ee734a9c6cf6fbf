"""Merging the files of a run: fewer files, the same rows for every reader, and the same findings."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from kfix.core.errors import UsageError
from kfix.fleet import upkeep
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.judging.case import judge_stored
from kfix.fleet.store import staging as stored_runs
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import newest_run
from kfix.fleet.store.tables import PARTITIONS
from kfix.fleet.upkeep import Compacted, compact
from tests.unit.fleet.audit_runs import audited_without_scenarios as audited
from tests.unit.fleet.audit_runs import cluster, day_of

CLUSTERS = ("b-east", "a", "%c", "d 1", "é")


@pytest.fixture(scope="module")
def two_audits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    for number in range(2):
        sick = [cluster(name, number, sick=0.05, dead=number) for name in CLUSTERS]
        audited(folder, sick, EmbeddedEngine(1), number=number)
    return folder


@pytest.fixture
def store(two_audits, tmp_path):
    return Path(shutil.copytree(two_audits, tmp_path / "store"))


def rows_of(store):
    """What deltalake's own reader finds, without kfix."""
    table = DeltaTable(store / "tables" / "partitions").to_pyarrow_table()
    columns = [table[n].to_pylist() for n in ("day", "run", "cluster", "topic", "partition", "n_isr")]
    return sorted(zip(*columns, strict=True))


def judged(store):
    return {name: judge_stored(where) for name, where in newest_run(place_of(store)).stored().items()}


def test_the_rows_and_the_findings_stay_the_same(store):
    rows, findings = rows_of(store), judged(store)
    assert {*findings} == {*CLUSTERS}
    assert any(diagnosis.findings for diagnosis in findings.values())
    found = list(compact(place_of(store)))
    assert found == [Compacted(day_of(0), "n", 5, 1), Compacted(day_of(1), "n", 5, 1)]
    assert len(StoreTable(place_of(store), PARTITIONS).files()) == 2
    assert rows_of(store) == rows
    assert judged(store) == findings


def test_a_merged_night_is_left_alone(store):
    list(compact(place_of(store)))
    before = StoreTable(place_of(store), PARTITIONS).files()
    assert list(compact(place_of(store))) == []
    assert StoreTable(place_of(store), PARTITIONS).files() == before


def test_large_files_have_an_end_and_a_cluster_may_have_several_row_groups(store, monkeypatch):
    rows, findings = rows_of(store), judged(store)
    monkeypatch.setattr(upkeep, "_MOST_ROWS", 700)  # two clusters of 300
    monkeypatch.setattr(upkeep, "ROWS", 100)
    assert [(c.before, c.after) for c in compact(place_of(store))] == [(5, 3), (5, 3)]
    where = newest_run(place_of(store)).stored()
    assert {len(each.groups) for each in where.values() if each.groups is not None} == {3}
    assert (rows_of(store), judged(store)) == (rows, findings)


def test_a_row_group_has_rows_of_one_cluster_and_no_more_than_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(stored_runs, "ROWS", 128)
    audited(tmp_path, [cluster("a"), cluster("b")], EmbeddedEngine(1))
    assert {each.groups for each in newest_run(place_of(tmp_path)).stored().values()} == {None}
    assert len(judged(tmp_path)) == 2


def test_readers_that_have_opened_the_table_before_still_find_its_files(store):
    opened = DeltaTable(store / "tables" / "partitions")
    list(compact(place_of(store)))
    assert opened.to_pyarrow_table().num_rows == 2 * 5 * 300


def test_a_damaged_file_is_named_and_nothing_is_lost(store):
    first = StoreTable(place_of(store), PARTITIONS).files()[0]
    with Path(first.place.path).open("r+b") as file:
        file.seek(40)
        file.write(b"\xff" * 400)
    before = StoreTable(place_of(store), PARTITIONS).files()
    with pytest.raises(UsageError, match=first.place.path.rpartition("/")[2].replace("%", ".")):
        list(compact(place_of(store)))
    assert StoreTable(place_of(store), PARTITIONS).files() == before
