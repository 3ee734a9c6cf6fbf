"""The answer to a question of the fleet, as a report shows it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """`rows` have the values of `columns`; `not_read` are sentences, and `unknown` is what no source shows."""

    name: str
    text: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    not_read: tuple[str, ...]
    unknown: str
