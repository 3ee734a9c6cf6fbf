"""Numbers with their nouns, sizes and rates, and the brokers of a sentence."""

import pytest

from kfix.wording import brokers_named, known_size, rate_text, several, size_text


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
