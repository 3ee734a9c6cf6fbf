"""What an audit concludes about one cluster: status, mutes, news, score and stuck partitions."""

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.core.fleetcase import Stuck
from kfix.core.inventory.model import Mute
from kfix.fleet.audit.concluding import Rules, as_news, compared, concluded, is_worse, next_baseline, stuck
from kfix.fleet.model.audit import Status
from tests.proofs.fleet.years import finding

DAY = date(2026, 3, 2)
BEFORE = DAY - timedelta(days=1)
FIRST = BEFORE - timedelta(days=6)


def mute(pattern, until=DAY):
    return Mute(("a",), (pattern,), "being replaced", until)


def head(code, rank=1, **more):
    return replace(finding("a", code, "x", DAY, rank=rank), **more)


def test_findings_of_both_audits_have_a_status_and_their_first_day():
    old = [replace(finding("a", code, "x", BEFORE), reported=True) for code in ("KFX101", "KFX301")]
    found = compared([head("KFX301"), head("KFX401")], old, DAY, collected=True)
    assert [(f.code, f.status, f.since, f.days) for f in found] == [
        ("KFX101", Status.FIXED, BEFORE, 1),
        ("KFX301", Status.STILL, BEFORE, 1),
        ("KFX401", Status.NEW, DAY, 0),
    ]


@pytest.mark.parametrize(
    ("now", "was", "collected", "status"),
    [
        ([], [], True, Status.FIXED),
        ([], [], False, Status.UNKNOWN),
        (["broker 2"], [], True, Status.UNKNOWN),
        (["broker 2"], ["broker 2"], True, Status.FIXED),
        (["broker 2"], ["broker 3"], True, Status.UNKNOWN),
    ],
    ids=["read", "not read", "a source less", "the same source less", "another source less"],
)
def test_what_is_gone_is_fixed_only_if_nothing_more_is_hidden(now, was, collected, status):
    def silent(names, day):
        return [finding("a", "KFX901", name, day) for name in names]

    before = [finding("a", "KFX301", "x", BEFORE), *silent(was, BEFORE)]
    [found] = [f for f in compared(silent(now, DAY), before, DAY, collected=collected) if f.code == "KFX301"]
    assert found.status == status


def test_the_tally_is_of_open_heads_that_are_not_muted():
    rows = [
        head("KFX101", 2),
        head("KFX301"),
        head("KFX302", head="KFX301:x"),
        head("KFX601", prevention=True),
        head("KFX602", 0),
        head("KFX401", 2),
    ]
    gone = replace(finding("a", "KFX501", "x", BEFORE), reported=True)
    worse = replace(finding("a", "KFX301", "x", BEFORE, rank=0), reported=True)
    rules = Rules(DAY, (mute("KFX401"), mute("KFX101", BEFORE), mute("KFX3*:y")))
    found, counted = concluded(rows, [gone, worse], rules, collected=True)
    assert counted.points == 40 + 15 + 2 + 0
    assert (counted.critical, counted.warning, counted.info) == (1, 2, 1)
    assert (counted.new, counted.worse, counted.still, counted.fixed, counted.muted) == (3, 1, 0, 1, 1)
    assert counted.covered == (1, 0, 0)
    assert [f.mute_reason for f in found if f.muted] == ["being replaced"]


def test_partitions_in_trouble_since_an_earlier_audit_are_stuck_unless_they_are_muted():
    def troubled(day, *partitions):
        return replace(finding("a", "KFX101", "x", day), partitions=partitions)

    now, before = [troubled(DAY, "t-1", "t-2")], [troubled(BEFORE, "t-2", "t-3")]
    assert stuck(now, before, rules=Rules(DAY)) == (Stuck("KFX101", ("t-2",), BEFORE),)
    older = replace(troubled(FIRST, "t-1"), key="KFX101:y")
    assert stuck(now, [*before, older], rules=Rules(DAY)) == (
        Stuck("KFX101", ("t-1",), FIRST),
        Stuck("KFX101", ("t-2",), BEFORE),
    )
    assert stuck(now, before, rules=Rules(DAY, (mute("KFX101"),))) == ()
    assert stuck(now, [replace(before[0], code="KFX201", key="KFX201:x")], rules=Rules(DAY)) == ()


@pytest.mark.parametrize(
    ("status", "after"),
    [
        (Status.NEW, Status.NEW),
        (Status.STILL, Status.NEW),
        (Status.WORSE, Status.NEW),
        (Status.UNKNOWN, Status.UNKNOWN),
        (Status.FIXED, None),
    ],
)
def test_what_was_held_back_is_new_once_it_is_reported(status, after):
    """By a mute, or by a maintenance window."""
    row = head("KFX301", status=status, reported=False, muted=False, n_partitions=7, baseline=2)
    [shown] = as_news([row], frozenset())
    assert (shown.status, shown.reported) == ((status, False) if after is None else (after, True))
    assert shown.baseline == (7 if after is Status.NEW and status is not Status.NEW else 2)
    known = replace(row, reported=True)
    assert as_news([known, replace(row, muted=True)], frozenset()) == (known, replace(row, muted=True))
    assert as_news([row], frozenset({"a"})) == (row,)


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
