"""Each code alone: found where it is, silent where it is only nearly so."""

from collections.abc import Callable
from functools import cache

import pytest

from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.snapshot.snapshot import Snapshot
from kfix.heal.runbook.catalogue import shipped_dir
from kfix_diagnostics import ALL
from kfix_diagnostics.catalogue import find
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnostics.cases import SICK, WELL
from tests.unit.diagnostics.clusters import healthy, partitions_stuck
from tests.unit.diagnostics.sick import Sick

SICK_ROWS = [pytest.param(code, case, id=f"{code}-{i}") for code, cases in SICK.items() for i, case in enumerate(cases)]
WELL_ROWS = [pytest.param(code, make, id=f"{code}-{i}") for code, makes in WELL.items() for i, make in enumerate(makes)]


@cache
def judged(code: str, make: Callable[[], Snapshot]) -> Diagnosis:
    return diagnose(make(), criteria=Criteria(prevention=find(code).prevention))


RUNBOOKS = {path.stem for path in shipped_dir().glob("*.yaml")}


@for_each(("code", "case"), SICK_ROWS)
def test_the_sick_cluster_has_the_finding(code: str, case: Sick) -> None:
    diagnosis = judged(code, case.make)
    found = {(f.code, f.obj): f for f in diagnosis.walk()}
    assert (code, case.obj) in found, sorted(found)
    finding = found[code, case.obj]
    assert finding.severity is case.severity
    assert finding.severity <= next(c.severity for c in ALL if c.code == code)


@for_each(("code", "case"), SICK_ROWS)
def test_no_finding_is_of_a_check_that_cannot_find_anything_there(code: str, case: Sick) -> None:
    diagnosis = judged(code, case.make)
    assert not {f.code for f in diagnosis.walk()} & diagnosis.inapplicable.keys()


@for_each(("code", "make"), WELL_ROWS)
def test_the_nearly_sick_cluster_has_not(code: str, make: Callable[[], Snapshot]) -> None:
    assert code not in {f.code for f in judged(code, make).walk()}


def test_a_healthy_cluster_has_no_finding() -> None:
    diagnosis = diagnose(healthy())
    assert diagnosis.findings == ()
    assert diagnosis.worst is None
    assert diagnosis.could_not_read == ()
    assert diagnosis.looked_at == {
        "brokers": 3, "registered": 3, "topics": 2, "partitions": 62, "groups": 3, "probes": 3, "sources": 4,
        "milliseconds": 20,
    }  # fmt: skip


@for_each(("code", "case"), SICK_ROWS)
def test_every_finding_states_what_a_person_needs(code: str, case: Sick) -> None:
    finding = next(f for f in judged(code, case.make).walk() if (f.code, f.obj) == (code, case.obj))
    assert finding.summary
    assert finding.cause.text
    assert finding.evidence
    assert all(row.value for row in finding.evidence)
    assert finding.remedies
    assert finding.never
    assert finding.prevention is find(code).prevention
    for remedy in finding.remedies:
        assert remedy.runbook in {"", *RUNBOOKS}
        # Named where nothing else is left, and typed by a person: no command here carries an approval.
        command = remedy.command.replace("unclean.leader.election.enable=false", "")
        last_resort = (code, remedy.runbook) in {("KFX103", "unclean-election"), ("KFX119", "unclean-election")}
        assert ("unclean" not in command) or last_resort


def test_an_unclean_election_is_proposed_only_where_no_in_sync_replica_is_alive_and_another_is() -> None:
    proposing = set()
    for cases in SICK.values():
        for case in cases:
            for finding in diagnose(case.make()).walk():
                if any("unclean election of" in r.text for r in finding.remedies):
                    proposing.add(finding.code)
    assert proposing == {"KFX103"}


def test_the_object_stays_the_same_when_counts_and_ages_change() -> None:
    few, many = partitions_stuck(30).kill(3, 300), partitions_stuck(60).kill(3, 900)
    assert {f.key for f in diagnose(few.snapshot()).walk()} == {f.key for f in diagnose(many.snapshot()).walk()}
