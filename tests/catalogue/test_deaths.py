"""The page of killed runs: it agrees with its results, and each runbook of KRaft has a case."""

from __future__ import annotations

from kfix.lab import INCIDENTS
from tests import shipped
from tests.deaths.cases import CASES
from tests.deaths.page import PAGE, load, page


def test_every_runbook_that_acts_on_kraft_has_a_case_on_an_incident_of_the_lab() -> None:
    assert CASES.keys() == {
        book.id for book in shipped.runbooks().values() if "kraft" in {mode.value for mode in book.metadata.modes}
    }
    assert {case.incident for case in CASES.values()} <= INCIDENTS.keys()


def test_the_page_shows_the_results_and_each_run_died_often() -> None:
    rows = load()
    assert PAGE.read_text() == page(rows), "python -m tests.deaths --render rewrites it"
    assert all(row.deaths >= 10 for row in rows)
