"""The results of cells, as docs/matrix.json holds them: one entry a line and an incident, the last run of it."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from kfix.lab import INCIDENTS
from kfix.lab.definition.recipes import RECIPES, Recipe
from kfix.lab.incidents.setup.incident import Act
from tests.matrix.cases import CASES
from tests.matrix.remedies import Apply, modes_of
from tests.places import ROOT

DATA = ROOT / "docs" / "matrix.json"
#: {the name of a line on the command line: its recipe}.
LINES: Mapping[str, Recipe] = {str(recipe).replace(" ", "-"): recipe for recipe in RECIPES.values()}


@dataclass(frozen=True)
class Cell:
    """One run. `failure` is empty where the incident was found, remedied and proved; seconds are rounded.

    `fingerprint` is of the incident and of its case: a run of other ones proves nothing of the present ones.
    """

    line: str
    incident: str
    fingerprint: str
    day: str
    made: float = 0.0
    detected: float = 0.0
    remedied: float = 0.0
    proved: float = 0.0
    code: str = ""
    object: str = ""
    cause: str = ""
    confidence: str = ""
    codes: list[str] = field(default_factory=list)
    remedies: list[str] = field(default_factory=list)
    proof: list[str] = field(default_factory=list)
    failure: str = ""


@cache
def fingerprint(incident: str) -> str:
    """Returns a digest of what `break` does, and of what the matrix claims of it; no sentence is part of it."""
    act = INCIDENTS[incident].act
    made = "".join(map(ast.dump, _parts(act))) + str(sorted(inspect.getclosurevars(act).nonlocals.items()))
    case = CASES[incident]
    books = sorted({remedy.runbook for remedy in case.remedies if isinstance(remedy, Apply)})
    modes = [(book, sorted(modes_of(book))) for book in books]
    claim = (case.codes, case.layout, sorted(case.options.items()), case.asked, modes)
    watched = " watched" if case.watched else ""
    return hashlib.sha256(f"{made} {claim}{watched}".encode()).hexdigest()[:12]


def _parts(act: Act) -> list[ast.stmt]:
    """Returns what the act of an incident uses of its module: functions, and values that are no sentences."""
    top: dict[str, ast.stmt] = {}
    for node in ast.parse(inspect.getsource(inspect.getmodule(act))).body:  # type: ignore[arg-type]
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []  # the declaration: its sentences
            top[node.name] = node
        elif isinstance(node, ast.Assign) and not _is_sentence(node.value):
            top |= {name.id: node for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    used: dict[str, ast.stmt] = {}
    names = [act.__name__, *act.__code__.co_names]
    for name in names:
        if name in top and name not in used:
            used[name] = top[name]
            names += [each.id for each in ast.walk(top[name]) if isinstance(each, ast.Name)]
    return [used[name] for name in sorted(used)]


def _is_sentence(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str) and " " in value.value


def load(path: Path = DATA) -> dict[tuple[str, str], Cell]:
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return {(row["line"], row["incident"]): Cell(**row) for row in rows}


def save(cell: Cell, path: Path = DATA) -> None:
    """Replaces the entry of the cell; entries are in the order of lines and incidents."""
    cells = load(path) | {(cell.line, cell.incident): cell}
    order = [(line, incident) for line in LINES for incident in INCIDENTS]
    rows = [asdict(cells[each]) for each in order if each in cells]
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def possible(line: str) -> tuple[str, ...]:
    """Returns the incidents that can be made on a line."""
    return tuple(name for name, each in INCIDENTS.items() if not each.reason_against(LINES[line]))
