"""The list of faults, `faults/PART.yaml`, and what became of them, docs/mutants.json."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import yaml

from tests.places import ROOT

FOLDER = Path(__file__).parent / "faults"
DATA = ROOT / "docs" / "mutants.json"
PAGE = ROOT / "docs" / "mutants.md"


@dataclass(frozen=True)
class Fault:
    """`old` occurs once in `file`; with `new` in its place the file has the fault that `why` describes.

    `equivalent` is the reason why no test can see the fault, `survives` the reason why none does. `by` are the files,
    folders or ids of the tests to run; without it, they are those that `near` finds.
    """

    part: str
    file: str
    old: str
    new: str
    why: str
    equivalent: str = ""
    survives: str = ""
    by: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Names the fault whatever file its code moves to."""
        digest = hashlib.sha256(repr((self.part, self.old, self.new)).encode()).hexdigest()
        return f"{self.part}-{digest[:6]}"

    def put_into(self, text: str) -> str:
        """Returns the file with the fault. Raises ValueError if the file has `old` not exactly once."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.part}, {self.id}: {self.file} has {text.count(self.old)} times: {self.old}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Result:
    """`verdict` is killed, timeout (a test never ended, which counts as killed) or survived; `by` is the test."""

    id: str
    verdict: str
    by: str = ""

    @property
    def is_killed(self) -> bool:
        return self.verdict in ("killed", "timeout")


Results = Mapping[str, Result]


@cache
def faults() -> tuple[Fault, ...]:
    rows = (
        (file.stem, row) for file in sorted(FOLDER.glob("*.yaml")) for row in yaml.safe_load(file.read_text("utf-8"))
    )
    return tuple(Fault(**{"part": part, **row, "by": tuple(row.get("by", ()))}) for part, row in rows)


def results() -> dict[str, Result]:
    rows = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else []
    return {row["id"]: Result(**row) for row in rows}


def save(found: Results) -> None:
    """Writes the results of the faults in the list, in its order."""
    rows = [json.dumps(asdict(found[fault.id])) for fault in faults() if fault.id in found]
    DATA.write_text("[\n " + ",\n ".join(rows) + "\n]\n", encoding="utf-8")
