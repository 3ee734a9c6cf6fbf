"""Which stored runs are still to be judged."""

from kfix.fleet.audit.pending import pending_runs
from kfix.fleet.embedded import EmbeddedEngine
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import place_of
from kfix.fleet.store.tables import AUDITS
from kfix.fleet.synthetic import write_fleet
from tests.unit.fleet.audit_runs import AT, again, cluster, day_of

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
