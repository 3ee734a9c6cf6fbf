"""Pytest's side of the suite: which tests a run has, in which order of luck, and what each costs."""

from __future__ import annotations

import gc
import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import settings

from tests.suite import costs, quarantine
from tests.suite.copies import by_function, commits, function_of, since, some, turn_of
from tests.suite.meter import Meter
from tests.suite.parts import BUDGET, Suite
from tests.waiting import PATIENCE, seconds

ON_A_WORKER = "PYTEST_XDIST_WORKER" in os.environ

#: `fast` has one example of so many.
FEWER_EXAMPLES = 4


def add_options(parser):
    group = parser.getgroup("suite")
    group.addoption("--part", choices=["fast", "slice", "all"], help="what `make test` has, or the slice of a commit")
    group.addoption("--turn", type=int, metavar="N", help="as if N commits led here: another slice, other copies")
    group.addoption("--copies", type=int, metavar="N", help="at most N copies of each parametrized test")
    group.addoption("--costs", type=Path, metavar="FOLDER", help="write what each test costs into FOLDER")
    group.addoption("--unmeasured", action="store_true", help="only tests whose cost nobody measured")


def configure(config):
    """Registers what the options ask for. Fixed seeds in `fast`; elsewhere new ones, which the header shows."""
    part = config.getoption("part")
    if part in {"slice", "all"} and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))
    config.pluginmanager.register(Selection(config, part))
    if ON_A_WORKER or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Meters(config, config.getoption("costs")))


class Selection:
    def __init__(self, config, part):
        self._part = part
        turn = config.getoption("turn")
        self._commit = commits() if turn is None else turn
        self._unmeasured = config.getoption("unmeasured")
        self._copies = config.getoption("copies")
        self._few_examples = part == "fast" or (part is None and config.getoption("costs") is not None)
        self._cpu = 0.0
        self._slice = ""

    def pytest_report_header(self, config):
        seed = config.option.hypothesis_seed
        part = [f"part: {self._part}, turn {self._commit}"] if self._part else []
        return [*part, *([f"seed: --hypothesis-seed={seed}"] if seed is not None else [])]

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self):
        """Without the garbage collector, which would look at all modules over and over: a sixth of the time."""
        gc.disable()
        try:
            return (yield)
        finally:
            gc.enable()

    @pytest.hookimpl(tryfirst=True)  # before xdist appends the group of a test to its id
    def pytest_collection_modifyitems(self, config, items):
        again = frozenset(item.nodeid for item in items if has_examples(item)) | quarantine.names()
        suite = Suite([item.nodeid for item in items], costs.load(), self._commit, again)
        config.suite = suite
        taken = self._taken(suite)
        for item in items:
            patient(item)
            quarantine.mark(item)
            if self._few_examples:
                take_few_examples(item)
        if taken is not None:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in taken])
            items[:] = [item for item in items if item.nodeid in taken]

    def _taken(self, suite):
        if self._unmeasured:
            return {nodeid for nodeid in self._some(suite.nodeids) if suite.costs.unknown(function_of(nodeid))}
        if self._part == "fast":
            return suite.fast() - quarantine.names()
        if self._part == "slice":
            number, count, taken = suite.slice()
            self._slice = f"slice {number + 1} of {count}: {len(taken)} tests; since it was last due: {since(count)}"
            return taken
        return set(self._some(suite.nodeids)) if self._copies else None

    def _some(self, nodeids):
        for function, ids in by_function(nodeids).items():
            yield from some(ids, self._copies or len(ids), turn_of(function, self._commit))

    def pytest_sessionfinish(self, session):
        if ON_A_WORKER:
            session.config.workeroutput["slice"] = self._slice

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        output = getattr(node, "workeroutput", {})
        self._cpu += output.get("cpu", 0.0)
        self._slice = output.get("slice", self._slice)

    def pytest_terminal_summary(self, terminalreporter, exitstatus):
        if self._cpu:
            budget = f" of {BUDGET}" if self._part == "fast" else ""
            terminalreporter.write_line(f"CPU: {self._cpu:.0f}{budget} seconds, with all that the tests started")
        if self._slice:
            terminalreporter.write_line(self._slice)


def patient(item):
    """Multiplies the time-out of a test, its own or that of pyproject.toml."""
    if PATIENCE == 1:
        return
    own = item.get_closest_marker("timeout")
    limit = own.args[0] if own and own.args else float(item.config.getini("timeout"))
    item.add_marker(pytest.mark.timeout(seconds(limit)), append=False)


def has_examples(item):
    """Whether hypothesis makes them."""
    return hasattr(getattr(item, "obj", None), "hypothesis")


def take_few_examples(item):
    """Examples are copies, too: `fast` has a part of them, always the same ones; a slice has all, and new ones."""
    if has_examples(item):
        known = item.obj._hypothesis_internal_use_settings
        few = settings(known, max_examples=min(known.max_examples, max(known.max_examples // FEWER_EXAMPLES, 10)))
        item.obj._hypothesis_internal_use_settings = few


class Meters:
    """Counts CPU seconds; with a folder, appends one JSON line a test to FOLDER/WORKER.jsonl (`costs.measured`)."""

    def __init__(self, config, folder):
        self._config = config
        self._file = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}-{os.getpid()}.jsonl").open("a")
        self._meter = Meter().start()
        self._began = self._ready = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self):
        self._began = self._ready = self._meter.seconds()
        try:
            return (yield)
        finally:
            self._ready = self._meter.seconds()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        result = yield
        if self._file is not None:
            row = {"id": item.nodeid, "setup": self._ready - self._began, "rest": self._meter.seconds() - self._ready}
            self._file.write(json.dumps(row) + "\n")
            self._file.flush()
        return result

    def pytest_sessionfinish(self):
        if ON_A_WORKER:
            self._config.workeroutput["cpu"] = self._meter.seconds()

    def pytest_unconfigure(self):
        if self._file is not None:
            self._file.close()
        self._meter.stop()
