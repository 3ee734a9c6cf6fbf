"""The copies of a parametrized test: which of them a run has, if it has not all."""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from typing import TypeVar

from tests.places import ROOT

T = TypeVar("T")


def function_of(nodeid: str) -> str:
    """The id of a test without its parameters: `tests/unit/test_x.py::test_y`."""
    return nodeid.partition("[")[0]


@cache
def commits() -> int:
    """How many commits lead to the one that is checked out: each of them rotates what a run takes. 0 without git.

    A shallow clone does not know how many: there the id of the commit stands for their number.
    """
    if _git("rev-parse", "--is-shallow-repository") == "true":
        return int(_git("rev-parse", "HEAD")[:8], 16)
    return int(_git("rev-list", "--count", "--first-parent", "HEAD") or 0)


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def since(commits_ago: int) -> str:
    """The commits since the slice of this commit was last due, as git names a range."""
    found = _git("log", "--first-parent", "--format=%h", f"-{commits_ago + 1}").split()
    return (
        f"git log {found[-1]}..{found[0]}" if len(found) > commits_ago else "not known: the clone has no older commits"
    )


def some(copies: Sequence[T], most: int, turn: int) -> list[T]:
    """`most` of these, evenly spread, in their order; `turn` after `turn` has each of them once."""
    n = len(copies)
    if most >= n:
        return list(copies)
    starts = {(turn + i * n // most) % n for i in range(most)}
    return [copy for i, copy in enumerate(copies) if i in starts]


def by_function(nodeids: Iterable[str]) -> dict[str, list[str]]:
    """{function: the ids of its copies}, in the order of collection."""
    found: dict[str, list[str]] = {}
    for function, ids in groupby(nodeids, key=function_of):
        found.setdefault(function, []).extend(ids)
    return found


def turn_of(function: str, commit: int) -> int:
    """Functions start at different copies, so that the dear copies of all do not fall on one commit."""
    return commit + zlib.crc32(function.encode())
