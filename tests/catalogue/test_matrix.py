"""The matrix of incidents and lines: its page agrees with the registry of incidents and with the runs."""

import os
from dataclasses import replace

import pytest

from kfix.lab import INCIDENTS
from tests import shipped
from tests.matrix.cases import CASES
from tests.matrix.page import PAGE, page, state_of
from tests.matrix.remedies import Apply, Refused
from tests.matrix.results import LINES, fingerprint, load, possible


@pytest.fixture
def cells():
    return load()


def test_the_page_agrees_with_the_registry_and_with_the_results(cells):
    """It holds each incident, each line, and no claim about an incident that has changed since its run."""
    if os.environ.get("KFIX_UPDATE_GOLDEN"):
        PAGE.write_text(page(cells))
    assert PAGE.read_text() == page(cells), "python -m tests.matrix --render rewrites it"


def test_each_incident_has_a_case_and_each_case_an_incident():
    assert list(CASES.keys() - INCIDENTS.keys()) == []
    assert list(INCIDENTS.keys() - CASES.keys()) == []


def test_results_are_of_incidents_that_can_be_made_on_their_line(cells):
    assert [each for each in cells if each[1] not in possible(each[0])] == []


def test_runbooks_of_the_cases_exist():
    named = {r.runbook for case in CASES.values() for r in case.remedies if isinstance(r, Apply | Refused)}
    assert named <= shipped.runbooks().keys()


def test_a_cell_claims_nothing_without_a_good_run_of_the_incident_as_it_is_now(cells):
    cell = next(each for each in cells.values() if not each.failure and each.fingerprint == fingerprint(each.incident))
    where = (cell.line, cell.incident)

    def claimed(**changed):
        return state_of({where: replace(cell, **changed)}, *where)

    assert claimed().startswith(cell.code or "no finding")
    assert claimed(fingerprint="of another incident") == "*not run*"
    assert claimed(failure="it did not heal") == "**open**"
    assert state_of({}, *where) == "*not run*"


def test_an_incident_that_cannot_happen_on_a_line_is_listed_with_its_reason(cells):
    text = page(cells)
    for line, recipe in LINES.items():
        for name, incident in INCIDENTS.items():
            if reason := incident.reason_against(recipe):
                assert state_of(cells, line, name) == "—"
                assert reason in text
