"""The command line as a pipe or a cron job sees it, with a cluster in memory behind it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kfix.core.application import App
from kfix.core.diagnosis.finding import REQUEST
from kfix.heal.memory.incidents import ALL
from kfix.shell.app import app
from tests.unit.heal.fake_wiring import FakeWiring

#: What stands behind the commands of this test; None: live clusters.
behind: App | None = None


def kfix(*args: str) -> Result:
    return CliRunner().invoke(app, ["runbook", *args], obj=behind)


def wire(incident: str, monkeypatch: pytest.MonkeyPatch, tmp: Path) -> FakeWiring:
    """The incident's cluster and finding; one that only a person asks about gives no finding. No test waits."""
    made = ALL[incident]()
    findings = () if made.finding.code == REQUEST else (made.finding,)
    fake = FakeWiring(made.cluster, *findings)
    monkeypatch.setattr(sys.modules[__name__], "behind", fake.app(tmp / "state", made.cluster.clock))
    return fake


def changes(fake: FakeWiring) -> list[str]:
    return [call.method for call in fake.cluster.faults.calls]


def one_line(text: str) -> str:
    return " ".join(text.split())


def plan_file(tmp: Path, *args: str, name: str = "plan.json") -> tuple[Path, dict[str, Any]]:
    path = tmp / name
    result = kfix("plan", *args, "--output-file", str(path))
    assert result.exit_code == 0, result.output
    return path, json.loads(path.read_text())


def last_run(tmp: Path) -> Path:
    return max((tmp / "state" / "kfix" / "runs").iterdir())


def journal(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "journal.ndjson").read_text().splitlines()]
