"""`python -m tests.matrix [--line LINE ...] [--incident NAME ...] [--again] [--render]`: runs cells, writes the page.

Without options it runs every cell that has no good run on the present incident. Each result is saved at once, so that
a run that was interrupted continues where it ended. Exit code 1 if a cell failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

from kfix.lab import INCIDENTS
from tests.matrix.cases import CASES
from tests.matrix.cell import Labs, run_cell
from tests.matrix.page import PAGE, page
from tests.matrix.results import LINES, fingerprint, load, possible, save

#: The newest first, and last the one that no test of `make test` runs.
_ORDER = ("4.3.1-kraft", "3.9.2-kraft", "3.9.2-zk", "2.7.1-zk", "4.4.0-kraft")


def cells(lines: list[str], incidents: list[str], *, again: bool) -> list[tuple[str, str]]:
    """Returns the cells to run; those of one layout follow each other."""
    done = load()

    def is_done(line: str, incident: str) -> bool:
        cell = done.get((line, incident))
        return cell is not None and not cell.failure and cell.fingerprint == fingerprint(incident)

    wanted = [(line, each) for line in lines for each in possible(line) if each in incidents]
    layouts = {name: case.layout for name, case in CASES.items()}
    left = [each for each in wanted if again or not is_done(*each)]
    return sorted(left, key=lambda each: (lines.index(each[0]), layouts[each[1]]))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("--line", action="append", choices=list(LINES))
    parser.add_argument("--incident", action="append", choices=list(INCIDENTS))
    parser.add_argument("--again", action="store_true", help="also cells that have a good run")
    parser.add_argument("--render", action="store_true", help="only write the page")
    given = parser.parse_args()
    failed = 0
    if not given.render:
        labs = Labs()
        with tempfile.TemporaryDirectory() as home:
            os.environ.setdefault("KFIX_LAB_HOME", home)
            try:
                for line, incident in cells(
                    given.line or list(_ORDER), given.incident or list(INCIDENTS), again=given.again
                ):
                    cell = run_cell(labs, line, incident)
                    save(cell)
                    failed += bool(cell.failure)
                    said = f"{line:12} {incident:38} {cell.code or '-':7} {cell.failure or 'proved'}"
                    print(said, flush=True)  # noqa: T201
            finally:
                labs.down()
    PAGE.write_text(page(load()), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
