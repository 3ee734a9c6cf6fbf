"""What an audit is compared with: the newest one before it that has the cluster, and never itself or a later one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from kfix.fleet.audit.past import earlier_rows, past_of, pending_runs
from kfix.fleet.demo.synthetic import write_fleet
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.model.audit import Status
from kfix.fleet.store.audits import audits
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import read_run
from kfix.fleet.store.tables import AUDITS
from tests.unit.fleet.audit_runs import AT, again, cluster, day_of
from tests.unit.fleet.audit_runs import audited_without_scenarios as audited


def past_before(audit, names):
    return past_of(audit.root, read_run(audit.root, *audit.key), names)


def test_each_audit_has_the_newest_one_before_it_as_its_previous(tmp_path: Path) -> None:
    engine = EmbeddedEngine(1)
    for number in range(3):
        names = ["a", "b"] if number == 0 else ["a"]
        audited(tmp_path, [cluster(name, number, sick=0.3, partitions=30) for name in names], engine, number=number)
    root = place_of(tmp_path)
    every = audits(root)
    assert len(every) == 3
    for number, audit in enumerate(every):
        found = past_before(audit, ["a", "b"])
        assert found.last == (every[number - 1] if number else None)
        # Cluster b is in the first audit only.
        previous = {} if not number else {"a": every[number - 1], "b": every[0]}
        assert dict(found.earlier.compared) == previous


def test_a_finding_that_was_fixed_in_the_previous_audit_is_history(tmp_path: Path) -> None:
    engine = EmbeddedEngine(1)
    audited(tmp_path, [cluster("a", 0, sick=0.5, partitions=30)], engine)
    audited(tmp_path, [cluster("a", 1, partitions=30)], engine, number=1)
    audited(tmp_path, [cluster("a", 2, partitions=30)], engine, number=2)
    root = place_of(tmp_path)
    first, second, third = audits(root)
    before = earlier_rows(past_before(second, ["a"]).findings).get("a", ())
    assert before, "the first audit has findings"
    after = earlier_rows(past_before(third, ["a"]).findings).get("a", ())
    assert Counter(row.status for row in after)[Status.FIXED] == 0
    assert len(after) < len(before)
    assert past_before(first, ["a"]).findings == {}


HOUR = 3600


def collected(root, number, run, hour=0):
    write_fleet(
        str(root), day_of(number), run, [cluster("a", number)], processes=1, at=AT + 86_400 * number + HOUR * hour
    )


def named(root, since=None):
    return [(run.day, run.id) for run in pending_runs(place_of(root), since)]


def test_runs_without_an_audit_are_pending_in_the_order_of_their_time(tmp_path):
    assert named(tmp_path) == []
    for number, run, hour in ((0, "z", 0), (0, "a", 3), (1, "n", 0), (2, "n", 0)):
        collected(tmp_path, number, run, hour)
    everything = [(day_of(0), "z"), (day_of(0), "a"), (day_of(1), "n"), (day_of(2), "n")]
    assert named(tmp_path) == everything
    assert named(tmp_path, day_of(1)) == everything[2:]

    again(tmp_path, EmbeddedEngine(1), number=0, run="z")
    assert named(tmp_path) == everything[1:]
    again(tmp_path, EmbeddedEngine(1), number=1)
    assert named(tmp_path) == everything[3:], "what was left out before the last audit is no news"
    assert named(tmp_path, day_of(0)) == [everything[1], everything[3]]
    again(tmp_path, EmbeddedEngine(1), number=2)
    assert named(tmp_path) == []


def test_an_audit_that_was_killed_before_its_last_commit_does_not_count(tmp_path):
    collected(tmp_path, 0, "n")
    again(tmp_path, EmbeddedEngine(1))
    StoreTable(place_of(tmp_path), AUDITS).replace(day_of(0), "n", [])
    assert named(tmp_path) == [(day_of(0), "n")]
