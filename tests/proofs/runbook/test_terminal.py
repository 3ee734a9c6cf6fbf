"""On a real terminal: the prompt, its answers, Ctrl-C, and the exit code that follows."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pexpect
import pytest

from tests.waiting import seconds

SCRIPT = """
import os, pathlib
from kfix.heal.memory.incidents import ALL
from tests.unit.heal.fake_wiring import FakeWiring
incident = ALL["coordinator-stuck"]()
behind = FakeWiring(incident.cluster, incident.finding).app(pathlib.Path(os.environ["STATE"]))
from kfix.shell.app import app
app(["runbook", "apply", "coordinator-stuck"], obj=behind)
"""
PROMPT = r"\[s\] skip > "


@pytest.fixture
def terminal(tmp_path: Path) -> pexpect.spawn:
    env = {**os.environ, "STATE": str(tmp_path), "NO_COLOR": "1", "TERM": "dumb"}
    child = pexpect.spawn(
        sys.executable, ["-c", SCRIPT], env=env, encoding="utf-8", timeout=seconds(30), dimensions=(60, 140)
    )
    child.expect(PROMPT)
    # A person reads the screen before the answer; what is faster is not taken.
    child.delaybeforesend = 0.8
    return child


def _ends(terminal: pexpect.spawn) -> tuple[int | None, str]:
    terminal.expect(pexpect.EOF)
    text: str = terminal.before
    terminal.close()
    return terminal.exitstatus, text


def test_yes_heals_and_proves(terminal: pexpect.spawn) -> None:
    terminal.sendline("y")
    code, text = _ends(terminal)
    assert code == 0
    assert "PROVED HEALED" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("answer", ["n", "\x04"])
def test_no_and_the_end_of_input_change_nothing(terminal: pexpect.spawn, answer: str) -> None:
    terminal.sendline(answer) if answer == "n" else terminal.sendeof()
    code, text = _ends(terminal)
    assert code == 4
    assert "nothing was changed" in text


def test_enter_alone_asks_again(terminal: pexpect.spawn) -> None:
    terminal.sendline("")
    terminal.expect("Not a valid answer.")
    terminal.expect(PROMPT)
    terminal.sendline("n")
    assert _ends(terminal)[0] == 4


def test_ctrl_c_at_the_prompt_is_one_clear_line_and_no_traceback(terminal: pexpect.spawn) -> None:
    terminal.sendintr()
    code, text = _ends(terminal)
    assert code == 4
    assert "kfix: interrupted; nothing was changed" in text
    assert re.search(r"kfix runbook resume \S+ +continues", text)
    assert "Traceback" not in text
