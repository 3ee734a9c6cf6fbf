"""`python -m tests.mutants [--slice [K]/N] [--only PART_OR_ID ...] [--tests PATH ...] [--record] [--again] [--render]`

Puts small faults into a copy of the tree, one at a time, and runs the fast tests near them. Without --record, it runs
each fault against the test that once killed it, and against all others if that one no longer does: exit code 1
if a fault that was killed survives. --record runs the faults that have no result or that survived, with --again all,
and writes docs/mutants.json and docs/mutants.md. A slice is one of N parts of the list: part K, or the one
whose turn it is at this commit.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.faults import PAGE, Fault, Result, Results, faults, results, save
from tests.mutants.page import page
from tests.places import ROOT
from tests.suite.copies import commits

CATALOGUE = ("commands", "diagnostics", "one_door", "runbooks", "runbooks_refuse")
PROOFS = ("derive", "diagnostics", "placement", "report")
#: The fast tests, each of one process. They execute kfix: a rule over the files would see any change.
TESTS = (
    "tests/unit",
    *(f"tests/catalogue/test_{each}.py" for each in CATALOGUE),
    *(f"tests/proofs/{each}" for each in PROOFS),
    "tests/proofs/fleet/test_scenarios.py",
)


def chosen(every: Sequence[Fault], only: Sequence[str], slice_: str) -> list[Fault]:
    """Returns the faults of the parts and ids that are given, and of these one slice.

    `2/8` has the second of eight; `/8` the one whose turn it is at this commit.
    """
    number, _, of = slice_.partition("/")
    wanted = [fault for fault in every if not only or fault.part in only or fault.id in only]
    return wanted[(int(number) - 1 if number else commits() % int(of)) :: int(of)]


def to_run(some: Sequence[Fault], known: Results, *, record: bool, again: bool) -> list[Fault]:
    """Returns the faults that can give news: recorded kills may be lost, survivors and new faults may be killed."""
    living = [fault for fault in some if not fault.equivalent]
    if again:
        return living
    return [fault for fault in living if (fault.id in known and known[fault.id].is_killed) is not record]


def run(some: Sequence[Fault], known: Results, tests: Sequence[str] = TESTS) -> dict[str, Result]:
    """Returns the verdicts, of fewer faults if pytest was ended or could not collect the tests."""
    if not some:
        return {}
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        copy, verdicts = Path(folder) / "tree", Path(folder) / "verdicts"
        _copy(copy)
        killers = {each.id: known[each.id].by for each in some if each.id in known and known[each.id].by}
        work = {"faults": [each.id for each in some], "killers": killers, "verdicts": str(verdicts)}
        (Path(folder) / "work").write_text(json.dumps(work), encoding="utf-8")
        env = {**os.environ, "KFIX_MUTANTS": f"{folder}/work", "PYTHONHASHSEED": "0"}
        env["PYTHONPATH"] = os.pathsep.join(str(copy / each) for each in ("", "diagnostics", "spark"))
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        words = ["-q", "-p", "no:cacheprovider", "-p", "tests.mutants.plugin", "-o", "timeout=40"]
        words += [f"--basetemp={folder}/t", *tests]
        subprocess.run([sys.executable, "-m", "pytest", *words], cwd=copy, env=env, check=False)
        lines = verdicts.read_text(encoding="utf-8").splitlines() if verdicts.exists() else []
        return {row["id"]: Result(**row) for row in map(json.loads, lines)}


def _copy(to: Path) -> None:
    """Copies what git has or would add."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def lost(now: Results, known: Results) -> list[Result]:
    return [each for each in now.values() if not each.is_killed and each.id in known and known[each.id].is_killed]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--slice", default="1/1", metavar="[K]/N")
    parser.add_argument("--only", action="append", default=[], metavar="PART_OR_ID")
    parser.add_argument("--tests", action="append", metavar="PATH", help="collect only these: faster, if they are near")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--again", action="store_true", help="with --record: also faults that have a good result")
    parser.add_argument("--render", action="store_true", help="only write the page")
    given = parser.parse_args()
    known, now = results(), dict[str, Result]()
    wanted = [] if given.render else chosen(faults(), given.only, given.slice)
    wanted = to_run(wanted, known, record=given.record, again=given.again)
    now = run(wanted, known, given.tests or TESTS)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    _say(f"{len(now)} of {len(wanted)} faults, {sum(each.ru_utime + each.ru_stime for each in used):.0f} CPU seconds")
    gone = lost(now, known)
    for each in now.values():
        if not each.is_killed:
            _say(f"survived: {each.id}" + (f", which {known[each.id].by} killed" if each in gone else ""))
    if given.record:
        save(known | now)
    if given.record or given.render:
        PAGE.write_text(page(results(), faults()), encoding="utf-8")
    return 1 if len(now) < len(wanted) or (gone and not given.record) else 0


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
