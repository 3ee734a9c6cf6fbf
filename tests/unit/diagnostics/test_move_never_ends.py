"""KFX504 on paper: what it offers, and that no other finding contradicts it."""

from __future__ import annotations

import pytest

from kfix.core.diagnosis.finding import Finding
from kfix.core.snapshot.snapshot import Assignment
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.test_incidents import find


def never_ends(**changes: int | tuple[int, ...]) -> Finding:
    return find(diagnose(kraft_clusters.move_never_ends(**changes)), "KFX504")  # type: ignore[arg-type]


def test_it_names_the_replica_in_both_lists_and_both_ways_out() -> None:
    finding = never_ends()
    assert finding.summary == (
        "the reassignment of ledger-0 never ends: it both adds and removes a replica on broker 3"
    )
    said = next(row.value for row in finding.evidence if row.source == "reassignment")
    assert said == "replicas [1, 2, 3], adding [1, 3], removing [2, 3]: broker 3 in both"
    cancel, forward = finding.remedies
    assert (cancel.runbook, "ledger-0 returns to [2]" in cancel.text) == ("cancel-reassignment", True)
    assert forward.text.startswith("Or reassign 1 partition to [1, 3]")


def test_where_the_original_replicas_are_dead_no_cancel_is_offered() -> None:
    finding = never_ends(dead=2)
    assert [remedy.runbook for remedy in finding.remedies] == [""]
    assert finding.remedies[0].text.startswith("Reassign 1 partition to [1, 3]")


@pytest.mark.parametrize("dead", [1, 2, 3])
def test_no_other_finding_states_that_a_broker_will_end_it(dead: int) -> None:
    diagnosis = diagnose(kraft_clusters.move_never_ends(dead=dead))
    assert "KFX501" not in {finding.code for finding in diagnosis.walk()}
    assert "KFX504" in {finding.code for finding in diagnosis.walk()}


def test_partitions_of_one_topic_are_one_finding_and_each_has_its_own_way_out() -> None:
    finding = never_ends(partitions=3)
    assert len(finding.partitions) == 3
    assert "[1, 3] (ledger-0), [1, 3] (ledger-1)" in finding.remedies[1].text


@pytest.mark.parametrize(
    ("move", "target"),
    [
        (Assignment((1, 2, 3), (1, 3), (2, 3)), (1, 3)),
        # Nothing but the contradiction is removed: to all of them Kafka changes nothing.
        (Assignment((1, 2, 3), (1, 3), (3,)), (1, 3)),
        (Assignment((1, 2), (2,), (2,)), (2,)),
    ],
)
def test_the_way_out_removes_a_replica_and_none_that_is_added(move: Assignment, target: tuple[int, ...]) -> None:
    assert move.ending_target == target


def test_on_zookeeper_there_is_no_such_reassignment() -> None:
    assert Assignment((1, 2, 3), (1,), (2,)).contradicted == ()
