"""Tests that failed by luck, for two weeks: `make test` leaves them out, a slice runs them, and they fail nothing.

tests/quarantine.yaml lists them. A row is not a place to stay: the catalogue refuses one that is older.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cache

import pytest
import yaml

from tests.places import ROOT

FILE = ROOT / "tests" / "quarantine.yaml"
MOST_ROWS, MOST_DAYS = 10, 14


@dataclass(frozen=True)
class Row:
    """`kind` is what is suspected (time, order, port, product), `note` what the owner found and will do."""

    test: str
    since: dt.date
    kind: str
    owner: str
    note: str

    def __post_init__(self) -> None:
        if not all((self.test, self.kind, self.owner, self.note)):
            raise ValueError(f"{FILE.name}: {self.test}: kind, owner and note are needed")


@cache
def rows() -> tuple[Row, ...]:
    return tuple(Row(**row) for row in yaml.safe_load(FILE.read_text()) or ())


def names() -> frozenset[str]:
    return frozenset(row.test for row in rows())


def faults(listed: tuple[Row, ...], today: dt.date) -> list[str]:
    """Why this list may not stay as it is."""
    old = [f"{row.test}: since {row.since}: mend it" for row in listed if (today - row.since).days > MOST_DAYS]
    return old + ([f"{len(listed)} rows, {MOST_ROWS} are allowed"] if len(listed) > MOST_ROWS else [])


def mark(item: pytest.Item) -> None:
    for row in rows():
        if row.test == item.nodeid:
            item.add_marker(pytest.mark.xfail(reason=f"quarantine since {row.since}: {row.note}", strict=False))
