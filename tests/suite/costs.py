"""What tests cost in CPU seconds: tests/costs.json, which `make costs` writes and the choice of tests reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from tests.places import ROOT
from tests.suite.copies import function_of

FILE = ROOT / "tests" / "costs.json"
#: What xdist writes behind the id of a test that belongs to a group.
_GROUP = re.compile(r"@[^\]@]+$")
#: A function that costs less than this a copy has no row of its own, but shares that of its file.
CHEAP = 0.2
#: A file has these beside its functions: the fixtures that its tests share, and a copy of each function without a row.
SHARED, OTHERS = "shared", "each other"
#: A copy of a function that was never measured; one with a cluster or a session of its own.
UNKNOWN, UNKNOWN_DEAR = 0.05, 10.0
#: Where every function has a row, and must have one before `make test` runs it: one may cost as much as a hundred.
DEAR_PLACES = ("tests/cluster/", "tests/spark/", "tests/proofs/", "tests/browser/")


@dataclass(frozen=True)
class Measured:
    """One test that ran: CPU seconds of its set-up, with fixtures that it was the first to need, and of the rest."""

    nodeid: str
    setup: float
    rest: float


@dataclass(frozen=True)
class Costs:
    """{file: {function: CPU seconds a copy}}, with `SHARED` and `OTHERS` among the functions."""

    files: Mapping[str, Mapping[str, float]]

    def each(self, function: str) -> float:
        """Of one copy of this function, without what its file shares."""
        file, _, name = function.partition("::")
        rows = self.files.get(file, {})
        dear = file.startswith(DEAR_PLACES[:2])
        return rows.get(name, rows.get(OTHERS, UNKNOWN_DEAR if dear else UNKNOWN))

    def unknown(self, function: str) -> bool:
        """Whether this must have been measured, and was not."""
        file, _, name = function.partition("::")
        return file.startswith(DEAR_PLACES) and name not in self.files.get(file, {})

    def shared(self, file: str) -> float:
        return self.files.get(file, {}).get(SHARED, 0.0)

    def total(self, nodeids: Iterable[str]) -> float:
        """Of these tests together; what a file shares counts once."""
        ids = list(nodeids)
        shared = sum(self.shared(file) for file in {nodeid.partition("::")[0] for nodeid in ids})
        return shared + sum(self.each(function_of(nodeid)) for nodeid in ids)


def load(file: Path = FILE) -> Costs:
    return Costs(json.loads(file.read_text())) if file.exists() else Costs({})


def measured(folder: Path) -> Iterator[Measured]:
    """What the workers of a run wrote into this folder (`plugin.Meters`)."""
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            yield Measured(_GROUP.sub("", row["id"]), row["setup"], row["rest"])


def summed(rows: Iterable[Measured]) -> dict[str, dict[str, float]]:
    """{file: its rows} of these tests."""
    by_file: dict[str, dict[str, list[Measured]]] = {}
    for row in rows:
        file, _, name = function_of(row.nodeid).partition("::")
        by_file.setdefault(file, {}).setdefault(name, []).append(row)
    return {file: _of_file(functions, file.startswith(DEAR_PLACES)) for file, functions in by_file.items()}


def _of_file(functions: Mapping[str, list[Measured]], every: bool) -> dict[str, float]:
    own = {name: median(row.setup for row in rows) for name, rows in functions.items() if len(rows) > 1}
    usual = median([row.setup for rows in functions.values() for row in rows])
    each, shared, others = {}, 0.0, []
    for name, rows in sorted(functions.items()):
        setup = own.get(name, usual)
        shared += sum(max(row.setup - setup, 0.0) for row in rows)
        cost = setup + mean(row.rest for row in rows)
        if every or cost >= CHEAP:
            each[name] = round(cost, 1)
        else:
            others.append(cost)
    found = {SHARED: round(shared, 1)} if shared >= CHEAP else {}
    return found | ({OTHERS: round(mean(others), 3)} if others else {}) | each


def merged(known: Mapping[str, Mapping[str, float]], rows: Iterable[Measured]) -> dict[str, Mapping[str, float]]:
    """What is known, with what was measured now in its place, function by function."""
    new = summed(rows)
    return {**known, **{file: {**known.get(file, {}), **each} for file, each in new.items()}}


def write(files: Mapping[str, Mapping[str, float]], file: Path = FILE) -> None:
    """One line a file of tests, so that a diff shows what became dearer."""
    lines = (f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in sorted(files.items()))
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
