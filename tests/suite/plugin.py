"""Measures what each test costs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.suite.copies import by_function, commits, some, turn_of
from tests.suite.meter import Meter


class Costs:
    """Appends one JSON line a test to FOLDER/WORKER.jsonl: its id, the CPU seconds of its set-up and of the rest."""

    def __init__(self, folder: Path) -> None:
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
        row = {"id": item.nodeid, "setup": self._ready - self._began, "rest": self._meter.seconds() - self._ready}
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        return result

    def pytest_unconfigure(self):
        self._file.close()
        self._meter.stop()


class Copies:
    """Leaves at most `most` copies of each test function; which ones rotates with the commits."""

    def __init__(self, most: int) -> None:
        self._most = most

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        taken = {
            nodeid
            for function, ids in by_function(item.nodeid for item in items).items()
            for nodeid in some(ids, self._most, turn_of(function, commits()))
        }
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in taken])
        items[:] = [item for item in items if item.nodeid in taken]
