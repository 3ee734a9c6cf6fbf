"""What is no JSON is refused with its line and column, whatever it is."""

from __future__ import annotations

import pytest

from kfix.core.documents.checked import NotJsonError, read_json


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        ('{"a":\n 1,,}', (2, 4)),
        ('{"a":\n 1', (2, 3)),
        ("", (1, 1)),
        ("{} x", (1, 5)),
        ('{"a": NaN}', (1, 7)),
        ("[" * 100_000, (1, 1)),
        ('["\\ud800"]', (1, 11)),
    ],
)
def test_the_place_is_named(raw: str, place: tuple[int, int]) -> None:
    with pytest.raises(NotJsonError) as caught:
        read_json(raw, object)
    assert (caught.value.line, caught.value.column) == place
