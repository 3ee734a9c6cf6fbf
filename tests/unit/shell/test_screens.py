"""The main screens at four widths, as the files in tests/golden/widths have them; KFIX_UPDATE_GOLDEN=1 writes them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kfix.core.saved.files import save
from kfix.front.lines import lines_text
from kfix.front.markdown import markdown_lines
from kfix.heal.report.page import page
from kfix.heal.runbook.catalogue import load
from kfix.shell.app import app
from tests.each import for_each
from tests.places import GOLDEN, ROOT
from tests.unit.diagnostics.clusters import base

#: {name: columns}; None is a pipe.
WIDTHS = {"80": "80", "100": "100", "160": "160", "pipe": None}
SCREENS = {
    "isr-gone": "diagnose --no-keep --from examples/snapshots/isr-gone.json.gz",
    "offsets-rf1": "diagnose --no-keep --from examples/snapshots/offsets-rf1.json.gz",
    "broker-ids-gone": "diagnose --no-keep --from examples/snapshots/broker-ids-gone.json.gz",
    "two-brokers-restarting": "diagnose --no-keep --from restarting.json",
    "explain": "explain isr-gone",
    "runbook": "runbook show coordinator-stuck",
    "whatif": "whatif --from examples/snapshots/healthy.json.gz",
    "preflight": "preflight restart broker=1002 --from examples/snapshots/isr-gone.json.gz",
    "help": "diagnose --help",
}


@pytest.fixture(scope="module")
def restarting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("screens") / "restarting.json"
    paper = base().kill(3, 95).kill(2, 12)
    paper.min_isr = 1
    save(paper.snapshot(), path)
    return path


def _on_terminal(width: str) -> str:
    """Returns the page of a runbook as a terminal shows it; a pipe gets Markdown."""
    return lines_text(markdown_lines(page(load("coordinator-stuck", None))), int(width))


@for_each("width", list(WIDTHS))
@for_each("name", list(SCREENS))
def test_a_screen_is_the_golden_one(
    name: str, width: str, restarting: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("KFIX_STATE_HOME", str(tmp_path))
    words = SCREENS[name].replace("restarting.json", str(restarting)).split()
    if name == "runbook" and width != "pipe":
        output = _on_terminal(width)
    else:
        output = CliRunner().invoke(app, words, env={"COLUMNS": WIDTHS[width]}).output
    path = GOLDEN / "widths" / f"{name}-{width}.txt"
    if os.environ.get("KFIX_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(output, encoding="utf-8")
    assert output == path.read_text(encoding="utf-8"), "KFIX_UPDATE_GOLDEN=1 rewrites it"


def test_no_golden_screen_is_left_over() -> None:
    known = {f"{name}-{width}" for name in SCREENS for width in WIDTHS}
    assert {path.stem for path in (GOLDEN / "widths").iterdir()} == known


@for_each("width", ["80", "100", "160"])
def test_no_line_of_a_screen_but_a_command_is_wider_than_the_terminal(width: str) -> None:
    for name in SCREENS:
        for line in (GOLDEN / "widths" / f"{name}-{width}.txt").read_text(encoding="utf-8").splitlines():
            assert len(line) <= int(width) or re.search(r"kfix |kafka-|[{]", line), (name, line)
