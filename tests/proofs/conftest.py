from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.proofs.stage import Stage


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process loses nothing that was written; tests/unit/runbook/journal proves that each record is synced."""
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "state" / "kfix"


@pytest.fixture
def orders(home: Path) -> Stage:
    """Six partitions of two replicas get a third, throttled, a canary and a batch of five."""
    from tests.proofs.scenarios import SCENARIOS

    return Stage(SCENARIOS["raise-topic-rf"], home)
