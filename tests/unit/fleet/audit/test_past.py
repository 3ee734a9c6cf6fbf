"""What an audit is compared with: the newest one before it that has the cluster, and never itself or a later one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from kfix.fleet.audit.past import earlier_rows, past_of
from kfix.fleet.embedded import EmbeddedEngine
from kfix.fleet.model.audit import Status
from kfix.fleet.store.audits import audits
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import read_run
from tests.unit.fleet.audit_runs import audited_without_scenarios as audited
from tests.unit.fleet.audit_runs import cluster


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
