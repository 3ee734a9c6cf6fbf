"""The matrix of security is made of the product's own registries, and its page of nothing but results."""

from kfix.core.properties.sasl import MECHANISMS as OF_KFIX
from kfix.heal.actions.registry import ALL
from kfix.lab.definition.protocols import MECHANISMS as OF_LAB
from kfix.lab.definition.protocols import PLAINTEXT, PROTOCOLS
from tests.places import ROOT
from tests.security.matrix import CELLS, ELSEWHERE, LINES, NEVER, OK, STEPS, page, results
from tests.security.rights import OF_ACTIONS, of_runbooks, table


def test_every_mechanism_of_kfix_is_in_a_lab_or_named_as_one_that_is_not():
    assert set(OF_KFIX) - set(OF_LAB) == set(ELSEWHERE)
    assert set(OF_LAB) <= set(OF_KFIX)
    assert {(each.security, each.mechanism) for each in CELLS if each.mechanism} == {
        (word, mechanism) for word in PROTOCOLS if word.startswith("sasl_") for mechanism in OF_LAB
    }
    assert {each.security for each in CELLS} == set(PROTOCOLS) - {PLAINTEXT}
    assert len({each.name for each in CELLS}) == len(CELLS)


def test_every_result_is_of_a_cell_and_has_every_step():
    known = results()
    assert set(known) <= {each.name for each in CELLS}
    assert {tuple(sorted(each["steps"])) for each in known.values()} <= {tuple(sorted(STEPS))}


def test_a_cell_without_a_result_and_one_that_failed_are_shown_as_such():
    first = CELLS[0]
    empty = page({})
    assert empty.count(NEVER + " |") == len(CELLS)
    assert f"0 of {len(CELLS)} cells passed, 0 failed, {len(CELLS)} were never run." in empty
    steps = dict.fromkeys(STEPS, OK) | {"audit": "AssertionError: why"}
    failed = page({first.name: {"steps": steps, "commit": "abc", "seconds": 1}})
    assert "FAILED: audit" in failed
    assert f"- {first.name}: audit: AssertionError: why" in failed
    assert f"0 of {len(CELLS)} cells passed, 1 failed" in failed
    assert all(" ".join(line) in failed for line in LINES)


def test_the_rights_of_every_action_are_known_and_the_page_has_those_of_every_runbook():
    assert set(OF_ACTIONS) == set(ALL)
    shown = (ROOT / "docs" / "security.md").read_text()
    assert table() in shown
    assert all(f"`{book}`" in table() for book in of_runbooks())
