"""The files of tests that are most likely to execute a file: those that import it, and those in the same folders."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import PurePath

from tests.places import ROOT

#: Where the tests of a package are, if not in the folder of its name.
_FOLDERS = {"kfix_diagnostics": "diagnostics", "kfix_spark": "fleet"}


def near(file: str, tests: Iterable[str]) -> list[str]:
    """Returns the test files that import it or share a folder with it: unit tests, then the nearest, then the short."""
    path = PurePath(file).with_suffix("")
    parts = [part for part in path.parts if part not in ("kfix", "diagnostics", "spark")]
    places = {_FOLDERS.get(part, part) for part in parts[:-1]}
    package = path.parts[-2]
    imports = re.compile(rf"\b{package}\.{parts[-1]}\b|\b{package} import [^\n]*\b{parts[-1]}\b")
    names = words_of(file)
    ranks = {}
    for test in tests:
        text = _text(test)
        rank = 3 * len(places.intersection(PurePath(test).parts)) + 3 * (parts[-1] in PurePath(test).stem)
        rank += 4 * bool(imports.search(text)) + 2 * bool(names.search(text))
        if rank:
            ranks[test] = (not test.startswith("tests/unit"), -rank, len(text), test)
    return sorted(ranks, key=lambda test: ranks[test])


@cache
def words_of(file: str) -> re.Pattern[str]:
    """Returns what names the file in a text: for reassign_move also "reassign.move"; of a check its code."""
    stem = PurePath(file).stem
    word = stem.partition("_")[0] if stem.startswith("kfx") else stem.strip("_").replace("_", "[._ -]?")
    return re.compile(rf"\b{word}", re.IGNORECASE)


@cache
def _text(test: str) -> str:
    return (ROOT / test).read_text(encoding="utf-8")
