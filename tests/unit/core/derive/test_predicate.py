"""Conditions: what is allowed, what is refused with its place, and that Python and SQL mean the same."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kfix.core.criteria import Expected
from kfix.core.derive.partition_facts import FACT_TYPES, PartitionFacts
from kfix.core.derive.predicate import compile_all, parse
from kfix.core.errors import InvalidFileError
from tests.each import for_each

FACTS = {"leader": int, "n_isr": int, "n_live_isr": int, "internal": bool, "unclean": bool, "topic": str}


def row(**values: object) -> PartitionFacts:
    blank = {name: kind() for name, kind in FACT_TYPES.items()}
    return PartitionFacts(**(blank | values))


@for_each(
    ("text", "problem"),
    [
        ("leadr < 0", "unknown fact 'leadr', did you mean 'leader'?"),
        ("topic == 1", "unknown fact 'topic'"),
        ("leader * 2 > 0", "'leader * 2' is not allowed"),
        ("len(n_isr) > 0", "'len(n_isr)' is not allowed"),
        ("n_isr if internal else 0", "is not allowed"),
        ("__import__('os')", "is not allowed"),
        ("leader < 0.5", "'0.5' is not allowed"),
        ("leader in n_isr", "is not allowed"),
        ("0 <= leader < n_isr", "is not allowed"),
        ("leader & n_isr > 0", "'leader & n_isr' is not allowed"),
        ("True", "'True' is not allowed"),
        ("leader", "int where bool is required"),
        ("leader and internal", "int where bool is required"),
        ("internal + 1 > 0", "bool where int is required"),
        ("internal == unclean", "bool where int is required"),
        ("leader <", "invalid syntax"),
    ],
)
def test_what_is_no_condition_is_refused_with_file_and_line(text: str, problem: str) -> None:
    with pytest.raises(InvalidFileError) as raised:
        parse(text, "kfx999.py:12", FACTS)
    assert str(raised.value).startswith(f"kfx999.py:12: not a condition: {text!r}: ")
    assert problem in str(raised.value)


def test_many_conditions_are_one_loop() -> None:
    match = compile_all([parse("leader < 0", "x"), parse("leader >= 0 and n_isr < min_isr", "x")])
    rows = [row(partition=0, leader=-1), row(partition=1, leader=2, n_isr=1, min_isr=2), row(partition=2, n_isr=3)]
    assert [[r.partition for r in hits] for hits in match(rows)] == [[0], [1]]


def test_what_is_expected_of_the_cluster_is_bound_when_rows_are_matched() -> None:
    condition = parse("n_replicas < expected_rf and min_isr < expected_min_isr", "x")
    rows = [row(partition=p, n_replicas=p, min_isr=1) for p in range(4)]
    match = compile_all([condition])
    assert [[r.partition for r in hits] for hits in (*match(rows), *match(rows, Expected(rf=2)))] == [[0, 1, 2], [0, 1]]
    assert match(rows, Expected(min_isr=1)) == ([],)


def test_no_condition_is_no_hit() -> None:
    assert compile_all([])([row()]) == ()


NAMES = st.sampled_from(["leader", "n_isr", "n_live_isr"])
NUMBERS = st.one_of(NAMES, st.integers(-2, 3).map(str), st.tuples(NAMES, NAMES).map(lambda t: f"({t[0]} - {t[1]})"))
SIMPLE = st.one_of(
    st.sampled_from(["internal", "unclean"]),
    st.tuples(NUMBERS, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), NUMBERS).map(" ".join),
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        inner.map(lambda c: f"not ({c})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"(({t[0]}) {t[1]} ({t[2]}))"),
    ),
    max_leaves=6,
)


@given(CONDITIONS, st.lists(st.tuples(*[st.integers(-2, 3)] * 3, st.booleans(), st.booleans()), max_size=5))
def test_python_and_sql_find_the_same_rows(text: str, values: list[tuple[int, int, int, bool, bool]]) -> None:
    condition = parse(text, "x", FACTS)
    rows = [row(leader=a, n_isr=b, n_live_isr=c, internal=d, unclean=e) for a, b, c, d, e in values]
    [hits] = compile_all([condition])(rows)
    with sqlite3.connect(":memory:") as db:
        db.execute("create table facts (leader int, n_isr int, n_live_isr int, internal bool, unclean bool)")
        db.executemany("insert into facts values (?, ?, ?, ?, ?)", values)
        # The text comes from the condition above, not from outside.
        [[n]] = db.execute(f"select count(*) from facts where {condition.text}").fetchall()
    db.close()
    assert len(hits) == n
