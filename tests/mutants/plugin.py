"""Runs inside pytest, in a copy of the tree: one collection, and a fork for each fault.

`KFIX_MUTANTS` names the file with the work.
"""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from time import process_time

import pytest

from tests.mutants.faults import Fault, faults
from tests.mutants.forks import Report, forked
from tests.mutants.near import near, words_of
from tests.mutants.swap import caches_of, change, functions_under, swap
from tests.places import ROOT
from tests.suite.copies import by_function, function_of, some
from tests.suite.costs import load as costs
from tests.waiting import seconds as patient

PACKAGES = ("kfix", "kfix_diagnostics", "kfix_spark")
#: Seconds without a word from a fork.
PATIENCE = 60.0
#: CPU seconds for the tests of a fault, the most that one of them may cost, and from which on it is tried last.
SECONDS, DEAREST, CHEAP = 20.0, 3.0, 0.5
#: The most files of tests that are tried on a fault, the nearest first; of the first two, all copies of each test.
MOST_FILES, WHOLE_FILES = 40, 2
#: Copies of a parametrized test that are tried, evenly spread.
COPIES = 3


def pytest_configure(config):
    config.pluginmanager.register(Forks(Path(os.environ.pop("KFIX_MUTANTS"))))


class Forks:
    """Runs the tests of each fault in a process of its own, and writes one verdict a line."""

    def __init__(self, work: Path) -> None:
        given = json.loads(work.read_text(encoding="utf-8"))
        self._faults = [fault for fault in faults() if fault.id in given["faults"]]
        self._killers: dict[str, str] = given["killers"]
        self._verdicts = Path(given["verdicts"])
        self._costs = costs()
        self._unsound: set[str] = set()
        self._failed = False
        self._edits = 0

    def pytest_runtest_logreport(self, report):
        self._failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        self._items = {item.nodeid: item for item in session.items}
        self._functions = functions_under(ROOT)
        assert self._functions, f"no function of {ROOT} is imported: no fault could be put in"
        self._caches = caches_of(PACKAGES)
        gc.freeze()  # else each fork would copy all of this when it collects garbage
        self._kills = {fault: now_called(by, self._items) for fault, by in self._killers.items()}
        sound = self._without_fault()
        with self._verdicts.open("w", encoding="utf-8") as out:
            for fault in self._faults:
                verdict, by = self._verdict(fault, sound)
                out.write(json.dumps({"id": fault.id, "verdict": verdict, "by": by}) + "\n")
                out.flush()
        return True

    def _without_fault(self) -> set[str]:
        """Returns the recorded killers that pass without a fault: another one would prove nothing."""
        wanted = sorted({test for tests in self._kills.values() for test in tests})
        seen = forked(partial(self._run, wanted, each=True), PATIENCE)
        return {line["end"] for line in seen if "end" in line and not line["failed"]}

    def _verdict(self, fault: Fault, sound: set[str]) -> tuple[str, str]:
        """Returns killed, timeout or survived, and the test that decided it; one that fails anyway decides nothing."""
        path = ROOT / fault.file
        text = path.read_text(encoding="utf-8")
        killers = [test for test in self._kills.get(fault.id, ()) if test in sound]
        while True:
            self._write(path, fault.put_into(text))
            try:
                found = self._tried(fault, text, killers) if killers else None
                found = found or self._tried(fault, text, self._tests_of(fault))
                sure = found is None or found[1] in sound or self._fails_again(fault, text, found[1])
            finally:
                self._write(path, text)
            if found is None:
                return "survived", ""
            if found[1] in sound or (sure and self._passes(found[1])):
                return found
            self._unsound.add(found[1])

    def _fails_again(self, fault: Fault, text: str, test: str) -> bool:
        """Whether a test fails with the fault once more: one with made-up examples may fail for its time alone."""
        return test not in self._items or self._tried(fault, text, [test]) is not None

    def _passes(self, test: str) -> bool:
        """Whether a test passes without a fault; a file that cannot even be collected with one does."""
        return all(not line.get("failed") for line in forked(partial(self._run, [test]), PATIENCE))

    def _tests_of(self, fault: Fault) -> list[str]:
        ids = [each for each in self._items if not fault.by or each.startswith(fault.by)]
        files = {file: [*tests] for file, tests in groupby(ids, key=lambda test: test.partition("::")[0])}
        order = list(files) if fault.by else near(fault.file, files)[:MOST_FILES]
        nearest, others = order[:WHOLE_FILES], order[WHOLE_FILES:]
        found = [test for file in nearest for test in _chosen(files[file], words_of(fault.file))]
        found += [test for file in nearest for test in files[file]]
        found += [test for file in others for test in _chosen(files[file], words_of(fault.file))]
        prices = {test: self._costs.each(function_of(test)) for test in dict.fromkeys(found)}
        cheapest = sorted(prices, key=lambda test: prices[test] > CHEAP)
        return [test for test in cheapest if (fault.by or prices[test] <= DEAREST) and test not in self._unsound]

    def _tried(self, fault: Fault, text: str, tests: Sequence[str]) -> tuple[str, str] | None:
        """Runs tests until one fails: in a fork if the fault is in functions, else also in a new process.

        A module may call a function when it is imported, to make a constant: `by` names the tests for such a fault.
        """
        changed = change(text, fault.put_into(text), str(ROOT / fault.file)) if fault.file.endswith(".py") else None
        if changed is None or not changed.is_outside:
            found = self._in_a_fork(changed.pairs if changed else (), fault.file, tests)
            if found or (changed and not fault.by):
                return found
        return self._in_a_new_process(tests)

    def _in_a_fork(self, pairs, file: str, tests: Sequence[str]) -> tuple[str, str] | None:
        def run(report: Report) -> None:
            swap(pairs, self._functions.get(str(ROOT / file), ()))
            self._run(tests, report, seconds=SECONDS)

        running = ""
        try:
            for line in forked(run, PATIENCE):
                running = line.get("start", "")
                if line.get("failed"):
                    return "killed", line["end"]
        except TimeoutError:
            return "timeout", running
        return ("killed", running) if running else None

    def _in_a_new_process(self, tests: Sequence[str]) -> tuple[str, str] | None:
        """A recorded killer alone, else the files of the tests: whole files collect faster than thousands of ids."""
        files = list(dict.fromkeys(each.partition("::")[0] for each in tests))
        parts = [tests] if len(tests) == 1 else [files[:WHOLE_FILES], files[WHOLE_FILES:]]
        return next((found for part in parts if part and (found := self._of_a_process(part))), None)

    def _of_a_process(self, chosen: Sequence[str]) -> tuple[str, str] | None:
        words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *chosen]
        try:
            done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=patient(1800), check=False)
        except subprocess.TimeoutExpired:
            return "timeout", ""
        failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
        return ("killed", failed[1] if failed else chosen[0]) if done.returncode in (1, 2, 3) else None

    def _run(self, tests: Iterable[str], report: Report, *, each: bool = False, seconds: float = 1e9) -> None:
        """Runs tests in this process, which is a fork; up to the first that fails, or `each`, and for some seconds."""
        began = process_time()
        for cache in self._caches:
            cache.cache_clear()
        items = [self._items[test] for test in tests if test in self._items]
        for item, following in zip(items, [*items[1:], None], strict=True):
            self._failed = False
            report({"start": item.nodeid})
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            report({"end": item.nodeid, "failed": self._failed})
            if process_time() - began > seconds or (self._failed and not each):
                return

    def _write(self, path: Path, text: str) -> None:
        """Each version has a time of its own: Python compares whole seconds and the size with those of the bytecode."""
        path.write_text(text, encoding="utf-8")
        self._edits += 10
        time = int(path.stat().st_mtime) + self._edits
        os.utime(path, (time, time))


def now_called(killer: str, tests: Iterable[str]) -> list[str]:
    """Returns a test by its recorded id; where none has it any more, what has its name: it moved, or its copies did."""
    function = _name(killer)
    named = [test for test in tests if _name(test) == function]
    if killer in named:
        return [killer]
    return [test for test in named if test.partition("[")[2] == killer.partition("[")[2]] or named


def _name(test: str) -> str:
    return function_of(test).rpartition("::")[2]


def _chosen(tests: Sequence[str], words: re.Pattern[str]) -> list[str]:
    """Returns the tests of a file: of a function with many copies those that name the faulty file, else some."""
    found = []
    for copies in by_function(tests).values():
        named = [test for test in copies if words.search(test.partition("[")[2])]
        found += named or some(copies, COPIES, 0)
    return found
