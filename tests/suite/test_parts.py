"""What runs when: every function in `make test` or a slice, nothing over its budget, and all copies in turn."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.suite import quarantine
from tests.suite.copies import by_function, some
from tests.suite.costs import OTHERS, SHARED, Costs, Measured, merged, summed
from tests.suite.parts import BUDGET, COMMITS, COPIES_COST, ROUND, SLICE, SelectionError, Suite, always
from tests.suite.touched import module_of

UNIT = [f"tests/unit/test_a.py::test_many[{n}]" for n in range(100)]
REAL = [f"tests/cluster/test_x.py::test_{name}[{n}]" for name in "pq" for n in range(40)]
COSTS = Costs({"tests/unit/test_a.py": {"test_many": 0.25}, "tests/cluster/test_x.py": {"test_p": 20, "test_q": 30}})


def suite(commit=0, costs=COSTS, nodeids=(*UNIT, *REAL)):
    return Suite(nodeids, costs, commit)


@given(st.integers(1, 60), st.integers(1, 60))
def test_turns_have_each_copy_and_no_turn_has_more_than_it_may(n, most):
    turns = [some(range(n), most, turn) for turn in range(n)]
    assert {copy for turn in turns for copy in turn} == set(range(n))
    assert {len(turn) for turn in turns} == {min(n, most)}
    assert all(turn == sorted(turn) for turn in turns)


def test_every_unit_function_is_in_make_test_with_the_copies_that_its_cost_allows():
    fast = suite().fast()
    assert len(fast) == COPIES_COST / 0.25
    assert {nodeid for commit in range(100) for nodeid in suite(commit).fast()} == set(UNIT)


def test_slices_have_every_function_in_each_round_and_every_copy_in_turn():
    count = len(suite().slices())
    rounds = [[nodeid for ids in suite(number * count).slices() for nodeid in ids] for number in range(40)]
    assert all(len(ids) == len(set(ids)) for ids in rounds)
    assert {nodeid for ids in rounds for nodeid in ids} == {*UNIT, *REAL}
    assert all(by_function(ids).keys() == by_function([*UNIT, *REAL]).keys() for ids in map(sorted, rounds))
    assert {COSTS.total([each for each in ids if "test_p" in each]) for ids in rounds} == {ROUND // 20 * 20}


def test_a_test_of_which_make_test_has_a_few_examples_only_or_which_it_leaves_out_is_in_a_slice():
    ids, cheap = [*REAL, UNIT[0]], Costs({"tests/cluster/test_x.py": {"test_p": 20, "test_q": 30}})
    assert UNIT[0] in suite(costs=cheap, nodeids=ids).fast()
    for again in (frozenset(), frozenset(UNIT[:1])):
        given = Suite(ids, cheap, 0, again)
        chosen = [Suite(ids, cheap, commit, again).slice() for commit in range(len(given.slices()))]
        assert frozenset().union(*(taken for _, _, taken in chosen)) & {*UNIT} == again


def test_no_slice_is_much_dearer_than_another():
    slices = suite().slices()
    assert max(COSTS.total(ids) for ids in slices) <= SLICE * 1.5
    chosen = [suite(commit).slice() for commit in range(len(slices))]
    assert [number for number, _, _ in chosen] == list(range(len(slices)))
    assert not any(ids & suite(number).fast() for number, _, ids in chosen)


def test_a_test_that_no_longer_fits_the_budget_is_named():
    dear = Costs({"tests/unit/test_a.py": {"test_many": 7.0}, "tests/unit/test_b.py": {SHARED: BUDGET}})
    with pytest.raises(SelectionError, match=r"test_b.py::test_c|test_many 7 s"):
        suite(costs=dear, nodeids=(*UNIT, "tests/unit/test_b.py::test_c")).check()


def test_more_slices_than_commits_within_which_each_must_run_are_refused():
    dear = Costs({"tests/cluster/test_x.py": {"test_p": SLICE * COMMITS, "test_q": 30}})
    with pytest.raises(SelectionError, match=f"{COMMITS + 1} slices of {SLICE} CPU seconds"):
        suite(costs=dear).check()


def test_a_test_of_make_test_without_a_measured_cost_is_named_where_it_may_be_dear():
    with pytest.raises(SelectionError, match=r"not measured: tests/proofs/test_new.py::test_it .*make costs"):
        suite(nodeids=("tests/proofs/test_new.py::test_it",)).check()


def test_make_test_fits_its_budget(request):
    """Of all tests that were collected: with `make test`, all that there are."""
    request.config.suite.check()


def test_a_bracket_in_a_pattern_is_one(monkeypatch):
    monkeypatch.setattr("tests.suite.parts.ALWAYS", ("tests/cluster/test_x.py::test_p[1]",))
    assert [nodeid for nodeid in REAL if always(nodeid)] == ["tests/cluster/test_x.py::test_p[1]"]


def test_what_a_file_shares_counts_once_and_cheap_functions_have_one_row():
    rows = [Measured("tests/unit/t.py::test_dear[a]", 9.0, 1.0), Measured("tests/unit/t.py::test_dear[b]", 0.0, 3.0)]
    rows += [Measured("tests/unit/t.py::test_cheap", 0.0, 0.1), Measured("tests/unit/t.py::test_cheaper", 0.0, 0.06)]
    found = summed(rows)
    assert found == {"tests/unit/t.py": {OTHERS: 0.08, "test_dear": 6.5, SHARED: 4.5}}
    costs = Costs(found)
    assert costs.total([row.nodeid for row in rows]) == pytest.approx(4.5 + 2 * 6.5 + 2 * 0.08)
    again = merged(found, [Measured("tests/unit/t.py::test_dear[a]", 0.0, 2.0)])
    assert again["tests/unit/t.py"]["test_dear"] == 2.0


def test_functions_keep_their_copies_together():
    assert [len(ids) for ids in by_function([*UNIT, *REAL]).values()] == [100, 40, 40]


def test_a_row_of_the_quarantine_is_refused_after_two_weeks_and_so_are_eleven():
    row = quarantine.Row("tests/x.py::test_y", dt.date(2026, 1, 1), "time", "ann", "waits for a port")
    assert quarantine.faults((row,), dt.date(2026, 1, 15)) == []
    assert quarantine.faults((row,), dt.date(2026, 1, 16)) == ["tests/x.py::test_y: since 2026-01-01: mend it"]
    assert quarantine.faults((row,) * 11, dt.date(2026, 1, 2)) == ["11 rows, 10 are allowed"]
    with pytest.raises(ValueError, match="kind, owner and note"):
        replace(row, note="")


def test_the_quarantine_is_as_it_must_be():
    assert quarantine.faults(quarantine.rows(), dt.datetime.now(tz=dt.UTC).date()) == []


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("kfix/heal/model/plan.py", "kfix.heal.model.plan"),
        ("diagnostics/kfix_diagnostics/__init__.py", "kfix_diagnostics"),
        ("spark/kfix_spark/engine.py", "kfix_spark.engine"),
        ("tests/unit/test_wording.py", "tests.unit.test_wording"),
        ("runbooks/isr-dead.yaml", None),
        ("docs/pictures/make.py", None),
    ],
)
def test_a_changed_file_is_a_module_or_none(path, module):
    assert module_of(path) == module
