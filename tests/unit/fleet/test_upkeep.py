"""Retention: listed first, the newest stays, and what is not ours is left alone."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from kfix.core.errors import UsageError
from kfix.fleet.demo.synthetic import write
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.questions.tables import tables
from kfix.fleet.store.audits import audits
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.history_tables import PARTITION_CHANGES
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import runs
from kfix.fleet.store.staging import RunWriter
from kfix.fleet.store.tables import ALL
from kfix.fleet.upkeep import Old, _beyond, days_of, delete_old, find_old
from tests.each import for_each
from tests.unit.fleet.audit_runs import audited_without_scenarios as audited
from tests.unit.fleet.audit_runs import cluster, day_of


@pytest.fixture(scope="module")
def four_audits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("four")
    for number in range(4):
        audited(folder, [cluster("a", number)], EmbeddedEngine(1), number=number)
    return folder


@pytest.fixture
def store(four_audits, tmp_path):
    return Path(shutil.copytree(four_audits, tmp_path / "store"))


def listed(root, today, keep_snapshots, keep_audits):
    return [(o.kind, o.day, o.complete) for o in find_old(place_of(root), today, keep_snapshots, keep_audits)]


def test_snapshots_and_audits_have_separate_age_limits(store):
    assert listed(store, day_of(3), 1, 2) == [
        ("audit", day_of(0), True),
        ("snapshots", day_of(0), True),
        ("snapshots", day_of(1), True),
    ]
    assert listed(store, day_of(3), 400, 400) == []


def test_nothing_goes_before_it_is_taken_away_and_then_it_is_gone(store):
    found = find_old(place_of(store), day_of(3), 1, 1)
    assert len(runs(place_of(store))) == 4
    assert all(o.size > 0 for o in found)
    delete_old(place_of(store), found)
    assert [r.day for r in runs(place_of(store))] == [a.day for a in audits(place_of(store))] == [day_of(2), day_of(3)]
    for spec in set(ALL) - {PARTITION_CHANGES}:
        assert {day for day, _ in StoreTable(place_of(store), spec).runs()} <= {day_of(2), day_of(3)}, spec.name
    assert not [*(store / "staging").iterdir()]
    assert listed(store, day_of(3), 1, 1) == []


def states_since(root, number):
    """The states of all partitions that had not ended on that day."""
    shown = tables(place_of(root), days=30)
    sql = (
        "SELECT topic, partition, valid_from, valid_to, leader, isr, why FROM partition_history "
        f"WHERE valid_to IS NULL OR CAST(valid_to AS DATE) > DATE '{day_of(number)}' ORDER BY ALL"
    )
    return EmbeddedEngine(1).query(sql, shown).to_pylist()


def test_an_old_state_that_has_not_ended_stays_known(tmp_path):
    """A broker is away on the second day; what ended with it goes."""
    root = tmp_path / "store"
    for number, dead in enumerate((0, 1, 0, 1)):
        deaths = (0, 1, 2, 3)[number]
        audited(root, [cluster("a", number, dead=dead, deaths=deaths)], EmbeddedEngine(1), number=number)
    before, rows = states_since(root, 1), states_since(root, -1)
    delete_old(place_of(root), find_old(place_of(root), day_of(4), 4, 2))
    assert [a.day for a in audits(place_of(root))] == [day_of(2), day_of(3)]
    assert states_since(root, 1) == states_since(root, -1) == before
    assert 300 < len(before) < len(rows)


def test_the_newest_stay_however_old_they_are(store):
    later = day_of(3) + timedelta(days=900)
    assert {o[1] for o in listed(store, later, 1, 1)} == {day_of(0), day_of(1), day_of(2)}


def test_unfinished_runs_go_when_they_are_old(store):
    writer = RunWriter(place_of(store), day_of(0) - timedelta(days=1), "given-up")
    write(str(writer.place), cluster("a"))
    assert ("snapshots", day_of(0) - timedelta(days=1), False) in listed(store, day_of(3), 3, 30)
    delete_old(place_of(store), find_old(place_of(store), day_of(3), 3, 30))
    assert listed(store, day_of(3), 3, 30) == []
    assert not [*(store / "staging").iterdir()]


def test_folders_that_are_not_ours_are_left_alone(store):
    notes = [
        store / "staging" / "date=tmp" / "run=x" / "note",
        store / "notes" / "note",
        store / "tables" / "mine" / "day=2020-01-01" / "note.parquet",
    ]
    for note in notes:
        note.parent.mkdir(parents=True)
        note.write_text("mine")
    assert all(o[1] >= day_of(0) for o in listed(store, day_of(3), 1, 1))
    delete_old(place_of(store), find_old(place_of(store), day_of(3), 1, 1))
    assert [note.read_text() for note in notes] == ["mine"] * 3


@for_each(
    ("kept", "days", "goes"),
    [
        (2, {0: True, 1: True, 3: True}, [0, 1]),
        (3, {0: True, 3: True}, [0]),
        (9, {0: True, 3: True}, [0]),
        (9, {0: True, 3: False}, [3]),  # the unfinished one is no newest run
        (9, {0: False, 3: False}, [0, 3]),
    ],
)
def test_what_is_older_than_the_first_day_to_keep_goes_except_the_newest_complete_run(kept, days, goes):
    """`days` are {day: whether its run is complete}."""
    every = [Old("snapshots", day_of(day), "r", complete, 1) for day, complete in days.items()]
    assert [old.day for old in _beyond(every, day_of(kept))] == [day_of(day) for day in goes]


@for_each("text", ["90", "0d", "-3d", "3w", "d", "", "all", "1e3d"])
def test_an_age_that_is_none_is_refused(text):
    with pytest.raises(UsageError, match="not a number of days"):
        days_of(text)


def test_a_folder_that_is_no_store_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is not a fleet store"):
        find_old(place_of(tmp_path), day_of(0), 1, 1)
