"""`python -m tests.deaths [--line LINE] [--runbook NAME ...] [--again] [--render]`: runs that die, and writes the page.

Each result is saved at once, so that a run that was interrupted continues where it ended. Exit code 1 if one failed.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kfix.core.errors import KfixError
from kfix.lab import Lab
from tests.cluster.remedy import operating
from tests.deaths.cases import CASES, Case
from tests.deaths.chain import killed_everywhere
from tests.deaths.page import LINE, PAGE, Row, load, page, save
from tests.matrix import cases as matrix
from tests.matrix.cell import Labs, clients, spec_of
from tests.matrix.remedies import Scene
from tests.matrix.results import LINES


def run_case(lab: Lab, line: str, runbook: str, case: Case, folder: Path) -> Row:
    began = time.monotonic()
    with operating(lab, folder) as operator:
        operator.diagnose()
        broken = lab.break_(case.incident, **dict[str, Any](case.options))
        scene = Scene(lab, operator, broken)
        for each in case.before:
            operator.healed(operator.plan(each, params={n: scene.filled(v) for n, v in case.params.items()}))
        more = case.prepare(scene)
        planned = operator.plan(runbook, *more, params={n: scene.filled(v) for n, v in case.params.items()})
        by_hand = case.by_hand
        try:
            came_to = killed_everywhere(operator, planned, None if by_hand is None else lambda: by_hand(scene))
        finally:
            if case.after is not None:
                with contextlib.suppress(AssertionError, OSError):
                    case.after(scene)
        proof = clients(lab, broken)
    day = dt.datetime.now(tz=dt.UTC).date().isoformat()
    return Row(
        line, runbook, case.incident, came_to.deaths, came_to.records, round(time.monotonic() - began), day, proof
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.deaths", description=__doc__)
    parser.add_argument("--line", default=LINE, choices=[line for line in LINES if line.endswith("kraft")])
    parser.add_argument("--runbook", action="append", choices=list(CASES))
    parser.add_argument("--again", action="store_true", help="also runbooks that have a result on this line")
    parser.add_argument("--render", action="store_true", help="only write the page")
    given = parser.parse_args()
    failed = 0
    wanted = [] if given.render else given.runbook or list(CASES)
    done = {row.runbook for row in load() if row.line == given.line}
    # Those of one layout follow each other, on one lab.
    wanted.sort(key=lambda name: matrix.CASES[CASES[name].incident].layout)
    labs = Labs()
    with tempfile.TemporaryDirectory() as home:
        os.environ.setdefault("KFIX_LAB_HOME", home)
        try:
            for runbook in (name for name in wanted if given.again or name not in done):
                case = CASES[runbook]
                try:
                    lab = labs.whole(spec_of(given.line, matrix.CASES[case.incident].layout))
                    row = run_case(lab, given.line, runbook, case, Path(tempfile.mkdtemp(dir=home)))
                except (AssertionError, KfixError, OSError) as error:
                    failed += 1
                    print(f"{runbook:26} {type(error).__name__}: {str(error)[:1500]}", flush=True)  # noqa: T201
                    continue
                save(row)
                said = f"{row.deaths} deaths, {row.records} records, {row.seconds} s"
                print(f"{runbook:26} {said}", flush=True)  # noqa: T201
        finally:
            labs.down()
    PAGE.write_text(page(load()), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
