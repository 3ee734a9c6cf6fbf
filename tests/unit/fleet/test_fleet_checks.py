"""KFX701 to KFX705: each with a fleet that has it and one that nearly has it."""

from datetime import date

import pytest

from kfix.core.fleetcase import ClusterDigest, FleetCase, Stuck
from kfix.core.inventory.model import ClusterEntry
from kfix_diagnostics.fleet import FLEET

DAY = date(2026, 3, 2)
CHECKS = {c.code: c for c in FLEET}
MIN_ISR, RF = "min.insync.replicas", "default.replication.factor"


def digest(name, cluster_id="", taken_at=1000.0, **settings):
    return ClusterDigest(
        name, cluster_id or f"id-{name}", taken_at, 3, 10, 100, {k.replace("_", "."): v for k, v in settings.items()}
    )


def case(digests=(), *, tags=(), failed=None, **more):
    names = {d.name: d for d in digests}
    entries = {n: ClusterEntry(n, bootstrap=f"{n}:9092", tags=tags) for n in (*names, *(failed or {}))}
    return FleetCase(DAY, 900.0, 1100.0, entries, names, failed or {}, **more)


def found(code, given):
    return dict(CHECKS[code].findings(given))


def test_what_was_not_collected_is_reported_with_the_command_that_shows_it():
    given = case([digest("a")], failed={"b": "refused"}, last_read={"b": date(2026, 2, 27)})
    [(name, finding)] = found("KFX701", given).items()
    assert (name, finding.cause.text) == ("b", "refused")
    assert "last collected on 2026-02-27" in finding.summary
    assert finding.remedies[0].command == "kfix diagnose --bootstrap-server b:9092"
    assert not found("KFX701", case([digest("a")]))


def test_stuck_partitions_are_reported_once_per_cluster():
    stuck = {"a": (Stuck("KFX302", ("x-10", "x-9"), DAY), Stuck("KFX301", ("x-9",), date(2026, 3, 1)))}
    [(name, finding)] = found("KFX702", case([digest("a"), digest("b")], stuck=stuck)).items()
    assert (name, [str(tp) for tp in finding.partitions]) == ("a", ["x-9", "x-10"])
    assert finding.summary == (
        "2 partitions have the same finding as in the previous audit: KFX302 since 2026-03-02: x-9, x-10; "
        "KFX301 since 2026-03-01: x-9"
    )
    assert not found("KFX702", case([digest("a")], stuck={"a": ()}))


def test_the_cluster_that_differs_from_its_peers_is_reported():
    like = [digest(n, min_insync_replicas="2") for n in "abc"]
    odd = digest("d", min_insync_replicas="1")
    [(name, finding)] = found("KFX703", case([*like, odd], tags=("prod",))).items()
    assert (name, finding.obj, finding.prevention) == ("d", "tag prod", True)
    assert finding.evidence[0].value == "1; 3 of 4 clusters have 2"
    assert not found("KFX703", case([*like, odd]))
    assert not found("KFX703", case(like, tags=("prod",)))
    assert not found("KFX703", case([odd], tags=("prod",)))


def test_without_a_majority_all_values_are_reported():
    given = case([digest("a", min_insync_replicas="1"), digest("b", min_insync_replicas="2")], tags=("prod",))
    assert set(found("KFX703", given)) == {"a", "b"}


def test_a_cluster_with_unknown_settings_is_not_compared():
    given = case([digest("a", min_insync_replicas="1"), digest("b"), digest("c", min_insync_replicas="1")], tags=("x",))
    assert not found("KFX703", given)


def test_settings_that_are_a_clusters_own_are_not_compared():
    given = case([digest("a", log_dirs="/a"), digest("b", log_dirs="/b")], tags=("x",))
    assert not found("KFX703", given)


def test_one_cluster_under_two_names_and_another_cluster_under_a_name():
    same = [digest("a", "one"), digest("b", "one"), digest("c", "two")]
    assert set(found("KFX704", case(same))) == {"a", "b"}
    moved = found("KFX704", case([digest("a"), digest("b")], previous_ids={"a": "old", "b": "id-b"}))
    assert {(n, f.obj) for n, f in moved.items()} == {("a", "another cluster")}
    assert not found("KFX704", case([digest("a"), digest("b")]))


@pytest.mark.parametrize(
    ("taken_at", "shown"), [(1399.0, False), (1401.0, True), (900.0 - 6 * 3600, False), (899.0 - 6 * 3600, True)]
)
def test_a_snapshot_outside_the_time_of_its_run(taken_at, shown):
    assert bool(found("KFX705", case([digest("a", taken_at=taken_at)]))) == shown
