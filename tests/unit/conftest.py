from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.heal.stage import Stage


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here cuts the power. test_journal.py proves that each record is synced."""
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """The founding incident, ready to be planned and healed."""
    return Stage("coordinator-stuck", tmp_path)


@pytest.fixture
def stages(tmp_path: Path) -> Callable[[str], Stage]:
    return lambda incident: Stage(incident, tmp_path / incident)
