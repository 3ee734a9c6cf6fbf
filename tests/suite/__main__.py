"""`python -m tests.suite costs|parts|touched`: what tests cost, what runs when, and what a change can reach."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.suite import costs
from tests.suite.copies import by_function
from tests.suite.parts import BUDGET, OVERHEAD, Suite
from tests.suite.touched import changed_files, tests_that_reach


class _Collected:
    """The suite of all tests that pytest finds, without running one."""

    suite: Suite

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.suite = session.config.suite  # type: ignore[attr-defined]  # by tests/suite/plugin.py


def collected() -> Suite:
    found = _Collected()
    pytest.main(["-qq", "--collect-only", "--no-header", str(ROOT / "tests")], plugins=[found])
    return found.suite


def measure(paths: list[str], *, again: bool) -> int:
    """Runs tests, one after the other, and writes down what they cost; without `again` those without a row."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "--costs", folder, "--copies", "2", *([] if again else ["--unmeasured"])]
        done = subprocess.run([sys.executable, "-m", "pytest", *options, *(paths or ["tests"])], cwd=ROOT, check=False)
        costs.write(costs.merged(costs.load().files, costs.measured(Path(folder))))
    return done.returncode


def show() -> None:
    """Prints the table of what runs when."""
    suite = collected()
    fast, slices = suite.fast(), suite.slices()
    print(f"{'part':28}{'functions':>10}{'tests':>8}{'CPU seconds':>13}")  # noqa: T201
    places = sorted({"/".join(nodeid.split("/")[:2]) for nodeid in suite.nodeids})
    rows = [(f"make test: {place}", [n for n in fast if n.startswith(place + "/")]) for place in places]
    rows += [("make test", list(fast)), *((f"slice {i + 1}", ids) for i, ids in enumerate(slices))]
    for name, ids in [*rows, ("all", list(suite.nodeids))]:
        print(f"{name:28}{len(by_function(sorted(ids))):10}{len(ids):8}{suite.costs.total(ids):13.0f}")  # noqa: T201
    print(f"budget of `make test`: {BUDGET}, of which {OVERHEAD} are for the start and the collection")  # noqa: T201


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.suite", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("costs", help="measure tests that have no cost yet, and write tests/costs.json")
    measuring.add_argument("paths", nargs="*")
    measuring.add_argument("--again", action="store_true", help="all of these, also those that have one")
    commands.add_parser("parts", help="what runs when, and what it costs")
    touched = commands.add_parser("touched", help="the tests that a change can reach by imports; not for CI")
    touched.add_argument("--base", default="HEAD", help="a change since this commit (default: HEAD)")
    given, options = parser.parse_known_args()
    if given.command == "costs":
        return measure(given.paths, again=given.again)
    if given.command == "parts":
        show()
        return 0
    files = tests_that_reach(changed_files(given.base))
    if not files:
        print("no test imports what was changed")  # noqa: T201
        return 0
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *options, *files], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
