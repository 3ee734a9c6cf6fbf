"""A declared type is its own format: what a file holds of it follows from its annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from kfix.core.declared import Int16, Unstored
from kfix.core.documents.checked import ShapeError
from kfix.core.documents.declared import dumped, loaded
from kfix.core.snapshot.naming import TopicPartition

TP = TopicPartition("t", 3)


class Row(NamedTuple):
    number: Int16
    names: frozenset[str] = frozenset()
    of: tuple[TopicPartition, ...] | None = None


@dataclass(frozen=True, slots=True)
class Thing:
    rows: Mapping[TopicPartition, Row]
    times: Mapping[int, float] = field(default_factory=dict)
    live: Unstored[str] = "unknown"


def test_partitions_are_grouped_by_topic_sets_are_sorted_and_an_unstored_field_is_left_out() -> None:
    thing = Thing({TP: Row(1, frozenset("ba"), (TP,))}, {1 << 40: 2.5}, "x")
    plain = dumped(thing)
    assert plain == {"rows": {"t": {"3": (1, ["a", "b"], (TP,))}}, "times": {str(1 << 40): 2.5}}


def test_what_is_missing_has_its_default_and_what_is_unknown_is_ignored() -> None:
    raw = '{"rows": {"t": {"3": [1]}}, "live": "x", "later": 1}'
    assert loaded(Thing, raw) == Thing({TP: Row(1)})


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("{}", "the whole: lacks rows"),
        ("[]", "the whole: wanted an object, not a list"),
        ('{"rows": {"t": {"3": [40000]}}}', "rows.t.3.number: 40000 is out of range"),
        ('{"rows": {"t": {"x": [1]}}}', "rows.t.x (the key): wanted a whole number, not 'x'"),
        ('{"rows": {"t": {"3": []}}}', "rows.t.3: wanted a list of 1 to 3 values, not of 0"),
        ('{"rows": {"a b": {"3": [1, [2]]}}}', "rows['a b'].3.names[0]: wanted text, not 2"),
        ('{"rows": {"t": {"3": [1, [], [["t", "0"]]]}}}', "rows.t.3.of[0].partition: wanted a whole number, not '0'"),
        ('{"rows": {}, "times": {"1": null}}', "times.1: wanted a number, not null"),
        ('{"rows": {}, "times": {"1": 1e999}}', "number out of range - at $.times[...]"),
    ],
)
def test_a_wrong_value_is_one_line_with_its_path(raw: str, words: str) -> None:
    with pytest.raises(ShapeError) as caught:
        loaded(Thing, raw)
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)
