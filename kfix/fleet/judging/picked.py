"""Rows that an engine has picked before: which conditions each of them meets. No column is read to find them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kfix.core.derive.predicate import Predicate


class Picked:
    """The picked rows of one cluster that has `rows` rows: `numbers` has their ascending numbers by condition.

    The conditions are texts; one that no row meets has an empty list.
    """

    def __init__(self, rows: int, numbers: Mapping[str, Sequence[int]]) -> None:
        self.rows = rows
        self._numbers = numbers

    def __contains__(self, condition: Predicate) -> bool:
        """Returns whether the rows were picked by this condition, too."""
        return condition.text in self._numbers

    def rows_of(self, conditions: Iterable[Predicate]) -> list[int]:
        """Returns the ascending numbers of the rows that meet at least one of the conditions."""
        return sorted({number for c in conditions for number in self._numbers[c.text]})

    def count(self, condition: Predicate) -> int:
        """Returns the number of rows that meet the condition."""
        return len(self._numbers[condition.text])
