"""Numbers with their nouns, sizes and rates, and the brokers of a sentence."""

import pytest

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import (
    ago,
    brokers_named,
    known_size,
    per_topic,
    rate_text,
    several,
    size_text,
    some,
    utc_iso,
    utc_text,
)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (1050, "1.1 kB"),
        (60_000_000, "60 MB"),
        (12_340_000, "12.3 MB"),
        (5 * 10**15, "5000 TB"),
    ],
)
def test_a_size_has_a_decimal_unit_and_at_most_one_decimal(size, text):
    assert size_text(size) == text
    assert rate_text(size) == f"{text}/s"


def test_a_negative_size_is_unknown():
    assert known_size(-1) == "size unknown"
    assert known_size(0) == "0 bytes"


def test_a_noun_has_its_plural():
    assert [several(n, "partition") for n in (0, 1, 2)] == ["0 partitions", "1 partition", "2 partitions"]
    assert several(2, "entry", "entries") == "2 entries"


def test_brokers_are_named_once_in_numerical_order():
    assert brokers_named([10, 9, 9]) == "brokers 9, 10"
    assert brokers_named([3]) == "broker 3"
    assert brokers_named([]) == "no broker"


def test_a_list_counts_what_it_does_not_name_and_names_the_last():
    assert some("abc", 3) == "a, b, c"
    assert some("abcd", 3) == "a, b, c, d"
    assert some("abcde", 3) == "a, b, c and 2 more"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "an unknown time"),
        (-1, "an unknown time"),
        (90, "90 s"),
        (180, "3 min"),
        (7200, "2 h"),
        (172800, "2 days"),
    ],
)
def test_an_age_has_one_unit(seconds, text):
    assert ago(seconds) == text


def test_a_time_is_in_utc():
    assert utc_text(1772348709.5) == "2026-03-01 07:05:09Z"
    assert utc_iso(1772348709.1239) == "2026-03-01T07:05:09.123Z"


def test_topics_that_are_not_named_are_counted_with_all_their_partitions():
    assert per_topic(TopicPartition("a", n) for n in range(3)) == "a (3 partitions)"
    many = [TopicPartition(f"t{n}", p) for n in range(9) for p in range(2)]
    names = ", ".join(f"t{n} (2 partitions)" for n in range(4))
    assert per_topic(many) == f"{names} and 5 more topics (18 partitions in all)"
    assert per_topic(many, counted=True) == f"{names} and 5 more topics"
