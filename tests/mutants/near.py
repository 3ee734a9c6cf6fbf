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
    """Returns those of the test files that import the file or share a folder with it: unit tests, then the nearest."""
    path = PurePath(file).with_suffix("")
    parts = [part for part in path.parts if part not in ("kfix", "diagnostics", "spark")]
    places = {_FOLDERS.get(part, part) for part in parts[:-1]}
    imports = re.compile(rf"\b{parts[-2]}\.{parts[-1]}\b|\b{parts[-2]} import [^\n]*\b{parts[-1]}\b")
    # reassign_move: "reassign.move" and ReassignMove, too; of a check its code.
    word = parts[-1].partition("_")[0] if parts[-1].startswith("kfx") else parts[-1].strip("_").replace("_", "[._ -]?")
    names = re.compile(rf"\b{word}", re.IGNORECASE)
    ranks = {}
    for test in tests:
        text = _text(test)
        rank = len(places.intersection(PurePath(test).parts)) + (parts[-1] in PurePath(test).stem)
        rank += 4 * bool(imports.search(text)) + 2 * bool(names.search(text))
        if rank:
            ranks[test] = (not test.startswith("tests/unit"), -rank, test)
    return sorted(ranks, key=lambda test: ranks[test])


@cache
def _text(test: str) -> str:
    return (ROOT / test).read_text(encoding="utf-8")
