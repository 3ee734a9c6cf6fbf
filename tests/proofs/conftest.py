from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.proofs.stage import Stage

#: The modules that start processes.
STARTERS = ("pexpect", "subprocess")


def starts_processes(module: ModuleType) -> bool:
    """Whether a file of tests imports what starts processes, or a helper of the tests that does."""
    helpers = {getattr(each, "__module__", None) or "" for each in vars(module).values()}
    names = {module.__name__, *(name for name in helpers if name.startswith("tests."))}
    return any(starter in vars(sys.modules[name]) for name in names for starter in STARTERS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and isinstance(item, pytest.Function) and starts_processes(item.module):
            # Processes and terminals on a machine that others use too: one more try, in a folder of its own.
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process loses nothing that was written; tests/unit/heal/journal proves that each record is synced."""
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


@pytest.fixture
def first(request: pytest.FixtureRequest) -> int:
    """The number of the first made-up case: 0, or the seed of a slice or of `make fuzz`, which its header shows."""
    return int(request.config.option.hypothesis_seed or 0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "state" / "kfix"


@pytest.fixture
def orders(home: Path) -> Stage:
    """Six partitions of two replicas get a third, throttled, a canary and a batch of five."""
    from tests.proofs.scenarios import SCENARIOS

    return Stage(SCENARIOS["raise-topic-rf"], home)
