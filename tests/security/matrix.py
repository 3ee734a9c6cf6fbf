"""The cells of the matrix mechanism x line, their results as data, and the page that is rendered from them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass

from kfix.core.properties.sasl import AWS
from kfix.core.properties.sasl import MECHANISMS as OF_KFIX
from kfix.lab.definition.protocols import MECHANISMS as OF_LAB
from kfix.lab.definition.protocols import PLAINTEXT, PROTOCOLS
from tests.places import ROOT

RESULTS = ROOT / "tests" / "security" / "results.json"
PAGE = ROOT / "docs" / "security-matrix.md"
LINES = (("2.7.1", "zk"), ("3.9.2", "kraft"), ("4.3.1", "kraft"), ("4.4.0", "kraft"))
STEPS = ("diagnose", "denials", "plan and apply", "audit", "watch")
OK, NEVER = "ok", "never run"
#: {mechanism of kfix that no lab has: why}.
ELSEWHERE = {AWS: "its brokers are AWS's. A broker of the lab refuses the token, which `tests/cluster` tries"}
_HEAD = """# Matrix of security and lines of Kafka

Generated from `tests/security/results.json`, which `make test-security` writes cell by cell on real brokers. A cell
with a result is not run again, but by `python -m tests.security --again NAME`; `--list` prints the names.

| step | proves |
|---|---|
| diagnose | over the secured listener alone, with each file of client properties: all is read, exit code 0 |
| denials | the authorizer refused nothing during that diagnosis with the documented minimum of rights |
| plan and apply | `sweep-throttles` is planned and applied; the plan records protocol and mechanism |
| audit | `kfix audit` of an inventory that names the client properties: nothing is unknown |
| watch | `kfix watch --until healthy` ends with 0, and its ring has the snapshots |

In all of them no password and no key is in an output, in a file that kfix wrote, or on a command line.
"""


@dataclass(frozen=True)
class Cell:
    kafka: str
    mode: str
    security: str
    mechanism: str | None

    @property
    def line(self) -> str:
        return f"{self.kafka} {self.mode}"

    @property
    def way(self) -> str:
        return " ".join(filter(None, (self.security, self.mechanism)))

    @property
    def name(self) -> str:
        return f"{self.line} {self.way}"

    @property
    def has_names(self) -> bool:
        """Whether clients have names, so that an authorizer can be tried."""
        return self.security != "tls"


def ways() -> list[tuple[str, str | None]]:
    """Returns every security of a lab with every mechanism: both registries are the product's own."""
    found: list[tuple[str, str | None]] = []
    for word in PROTOCOLS:
        if word.startswith("sasl_"):
            found += itertools.product([word], OF_LAB)
        elif word != PLAINTEXT:
            found.append((word, None))
    return found


CELLS = tuple(Cell(*line, *way) for way, line in itertools.product(ways(), LINES))


def results() -> dict[str, dict[str, object]]:
    """Returns {name of a cell: {"steps": {step: result}, "commit": id, "seconds": number}}."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def written(found: Mapping[str, object]) -> str:
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def page(found: Mapping[str, dict[str, object]] | None = None) -> str:
    known = results() if found is None else found
    rows = [f"| security, mechanism | {' | '.join(' '.join(line) for line in LINES)} |", "|---|" + "---|" * len(LINES)]
    for way in ways():
        cells = [Cell(*line, *way) for line in LINES]
        rows.append(f"| {cells[0].way} | {' | '.join(_shown(known.get(each.name)) for each in cells)} |")
    # AWS's mechanism and the like are no cells, and the page says so.
    rows += [f"| {each} | {' | '.join(['no lab'] * len(LINES))} |" for each in OF_KFIX if each not in OF_LAB]
    notes = [f"{each}: {ELSEWHERE[each]}." for each in OF_KFIX if each not in OF_LAB]
    ran = [each for each in CELLS if each.name in known]
    whole = [each for each in ran if not _failures(known[each.name])]
    count = f"{len(whole)} of {len(CELLS)} cells passed, {len(ran) - len(whole)} failed, "
    count += f"{len(CELLS) - len(ran)} were never run."
    failed = [f"- {each.name}: {why}" for each in ran for why in _failures(known[each.name])]
    commits = sorted({str(known[each.name]["commit"]) for each in ran})
    last = [f"Commits of the runs: {', '.join(f'`{each}`' for each in commits) or 'none'}."]
    return "\n".join([_HEAD, count, "", *rows, "", *notes, *([""] if failed else []), *failed, "", *last, ""])


def _steps(result: Mapping[str, object]) -> Mapping[str, str]:
    steps = result["steps"]
    assert isinstance(steps, dict)
    return steps


def _failures(result: Mapping[str, object]) -> list[str]:
    return [f"{step}: {said}" for step, said in _steps(result).items() if said != OK and not said.startswith("not ")]


def _shown(result: Mapping[str, object] | None) -> str:
    if result is None:
        return NEVER
    failed = [why.partition(":")[0] for why in _failures(result)]
    if failed:
        return f"FAILED: {', '.join(failed)}"
    without = [step for step, said in _steps(result).items() if said != OK]
    return OK + (f" (no {', '.join(without)})" if without else "")
