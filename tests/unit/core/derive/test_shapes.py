"""Grouping partitions by shape changes no answer: the same rows and totals as from every row made one by one."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.core.criteria import EXPECTED, Expected
from kfix.core.derive.background import background_of
from kfix.core.derive.casefile import STANDING
from kfix.core.derive.partition_facts import PartitionFacts, derive
from kfix.core.derive.partitions import SnapshotPartitions
from kfix.core.derive.predicate import Predicate, loosened, parse
from kfix.core.derive.shapes import OWN_FACTS, ShapedPartitions
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix_diagnostics import ALL
from kfix_diagnostics.catalogue import predicate_of
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.papers import papers

_TIMES = parse("state_age > 3600 or not (stable_for < 10 and n_isr > 0)", "test")
_EVERY = parse("True", "test")
_ASKED = (*STANDING, *(condition for check in ALL if (condition := predicate_of(check))))
CONDITIONS: tuple[Predicate, ...] = (*{each.text: each for each in _ASKED}.values(), _TIMES, _EVERY)


def widened(snapshot: Snapshot, copies: int) -> Snapshot:
    """Returns the snapshot with each topic several times, so that many partitions have one shape."""

    def more(found):
        return {
            TopicPartition(f"{tp.topic}{n or ''}", tp.partition): v for n in range(copies) for tp, v in found.items()
        }

    zookeeper = snapshot.zookeeper
    if zookeeper is not None:
        zookeeper = replace(
            zookeeper,
            assignments=more(zookeeper.assignments),
            states={
                tp: state._replace(version=number % 7, mtime_ms=state.mtime_ms - 977 * number)
                for number, (tp, state) in enumerate(more(zookeeper.states).items())
            },
        )
    views = {b: replace(view, partitions=more(view.partitions)) for b, view in snapshot.views.items()}
    if views:
        first = next(iter(views.values())).partitions
        views = {b: replace(v, partitions=first) if v.partitions == first else v for b, v in views.items()}
    return replace(snapshot, zookeeper=zookeeper, views=views)


@settings(max_examples=40)
@given(papers(), st.integers(1, 4), st.sampled_from([EXPECTED, Expected(2, 1)]))
def test_every_answer_is_that_of_the_rows_made_one_by_one(paper, copies, expected):
    snapshot = widened(paper.snapshot(), copies)
    background = background_of(snapshot)
    plain = SnapshotPartitions(snapshot, derive(snapshot, background), expected)
    shaped = ShapedPartitions(snapshot, background, expected)
    assert list(shaped.where(_EVERY)) == list(plain.facts)
    for condition in CONDITIONS:
        assert list(shaped.where(condition)) == list(plain.where(condition)), condition.text
        assert shaped.count(condition) == plain.count(condition), condition.text
    for total in ("topics", "leads", "preferred", "holds"):
        assert getattr(shaped, total) == getattr(plain, total), total
    assert len(shaped) == len(plain)
    assert {b: shaped.left(b) for b in range(9)} == {b: plain.left(b) for b in range(9)}
    offered = shaped.candidates(CONDITIONS[:-2])
    assert list(offered) == sorted(offered)
    assert set(offered) >= {row for condition in CONDITIONS[:-2] for row in plain.where(condition)}
    assert set(offered) <= set(plain.facts)


@settings(max_examples=30)
@given(papers())
def test_the_samples_have_every_leader_with_its_isr(paper):
    snapshot = widened(paper.snapshot(), 3)
    shaped = ShapedPartitions(snapshot, background_of(snapshot))
    rows = derive(snapshot)
    assert {(f.leader, f.n_isr) for f in shaped.samples} == {(f.leader, f.n_isr) for f in rows}
    assert set(shaped.samples) <= set(rows)


def test_a_thousand_equal_partitions_are_one_shape():

    snapshot = base().snapshot()
    few = ShapedPartitions(snapshot, background_of(snapshot))
    wide = widened(snapshot, 100)
    many = ShapedPartitions(wide, background_of(wide))
    assert len(many) == 100 * len(few)
    # The copies of an internal topic are ordinary topics.
    assert len(many.shapes) <= 2 * len(few.shapes)


@pytest.mark.parametrize(
    ("text", "loose"),
    [
        ("reassigning and state_age > 3600", "reassigning and True"),
        ("not (leaderless and stable_for < 5)", "not (leaderless and False)"),
        ("n_isr > 0", "n_isr > 0"),
        ("partition + n_isr > 3 or leaderless", "True or leaderless"),
    ],
)
def test_a_loosened_condition_no_longer_names_the_facts(text, loose):
    found = loosened(parse(text, "test"), OWN_FACTS)
    assert found.text == loose
    assert not found.names & OWN_FACTS


def test_the_own_facts_are_facts():
    assert set(PartitionFacts._fields) > OWN_FACTS
