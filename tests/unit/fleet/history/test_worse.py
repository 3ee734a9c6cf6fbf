"""Worse is measured against what was last reported."""

from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.fleet.audit.concluding import compared
from kfix.fleet.history.worse import is_worse, next_baseline
from tests.proofs.fleet.years import finding

DAY = date(2026, 3, 1)


def statuses(sizes, ranks=None):
    """Returns (status, baseline) of a finding over successive audits in which it has these partitions."""
    before, found = [], []
    for number, n in enumerate(sizes):
        row = finding("a", "KFX302", "x", DAY, n=n, rank=ranks[number] if ranks else 1)
        before = compared([row], before, DAY, collected=True)
        [row] = before
        found.append((row.status, row.baseline))
    return found


def test_what_grows_a_little_each_day_is_worse_once_it_has_grown_by_half():
    found = statuses([10, 14, 19, 26, 36, 50, 69])
    assert [status for status, _ in found] == ["new", "still", "worse", "still", "worse", "still", "worse"]
    assert [baseline for _, baseline in found] == [10, 10, 19, 19, 36, 36, 69]


def test_what_shrinks_and_comes_back_is_not_worse_again():
    assert [s for s, _ in statuses([100, 10, 100, 150, 151])] == [
        "new", "still", "still", "still", "worse",
    ]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2)), min_size=2, max_size=6))
@settings(max_examples=40, deadline=None)
def test_the_comparison_follows_the_rule(audits):
    found = statuses([n for n, _ in audits], [rank for _, rank in audits])
    baseline = audits[0][0]
    for (before, _), (n, rank), (status, told) in zip(((r, n) for n, r in audits), audits[1:], found[1:], strict=False):
        assert status == ("worse" if is_worse(rank, n, before, baseline) else "still")
        baseline = next_baseline(rank, n, before, baseline)
        assert told == baseline
