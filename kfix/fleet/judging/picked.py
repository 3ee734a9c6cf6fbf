"""Rows that an engine has picked before: which conditions each of them meets. No column is read to find them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kfix.derive.predicate import Predicate


class Picked:
    """The ascending row numbers of one cluster by the text of the condition that they meet; absent where none does."""

    def __init__(self, numbers: Mapping[str, Sequence[int]]) -> None:
        self._numbers = numbers

    def rows_of(self, conditions: Sequence[Predicate]) -> list[int]:
        return sorted({number for c in conditions for number in self._numbers.get(c.text, ())})

    def count(self, condition: Predicate) -> int:
        return len(self._numbers.get(condition.text, ()))

    @property
    def samples(self) -> list[int]:
        return list(self._numbers.get("sample", ()))
