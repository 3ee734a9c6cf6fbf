"""On a real terminal: what was typed or pasted before a screen stood answers nothing, at no level of gate."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest

from kfix.heal.gate.gates import reading_seconds
from kfix.heal.model.plan import Gate
from tests.waiting import seconds

# A terminal drops what was typed before it asks; on a busy machine also what these tests type right after.
pytestmark = pytest.mark.flaky(reruns=2)

SCRIPT = """
import os, pathlib, sys, time
from kfix.heal.memory.incidents import ALL
from kfix.core.args import Args
from kfix.heal.model.plan import Gate
from kfix.core.snapshot.reading import ChangeResult
from kfix.front.console import console_on
from kfix.heal.report.keyboard import Terminal
from kfix.heal.report.run import RunReporter
from kfix.core.clock import SystemClock
from kfix.heal.gate import gates
from kfix.heal.gate.gates import Given
from kfix.heal.execution.run import run_plan
from tests.shipped import changed
from tests.unit.heal.stage import Stage

home, level = pathlib.Path(os.environ["HOME_OF_RUNS"]), Gate[os.environ["LEVEL"]]
# The second step is not applicable while a replica outside the ISR is alive.
stage = Stage("coordinator-stuck-of-two-replicas" if "LADDER" in os.environ else "coordinator-stuck", home)
stage.cluster.clock.at = time.time()
nudge = stage.runbook.steps[1]
others = [s for s in stage.runbook.steps[2:3]] if "LADDER" in os.environ else []
if others:
    stage.cluster.faults.answer("reassign", ChangeResult(0, "NONE"))
stage.runbook = changed(stage.runbook, steps=[changed(nudge, gate=level, verify_timeout=1.0), *others])
plan = stage.plan()
console = console_on(sys.stdout)
gates._READING_SECONDS = float(os.environ["READING"])
given = Given(countersigned="somebody") if level is Gate.TWO_PERSON else Given()
print("READY", flush=True)
sys.stdin.readline()
time.sleep(float(os.environ["BUSY"]))
stage.run(plan, human=Terminal(console), given=given, clock=SystemClock(), listener=RunReporter(plan, console))
"""
PHRASE = "memory-cluster/__consumer_offsets-26/replicas 3,1,2"
# A person's time to read a screen, and to type after it.
READS = 0.8
READING = reading_seconds("")


class Desk:
    def __init__(
        self, folder: Path, level: Gate, *, busy: float = 0.0, ladder: bool = False, reading: float = 0.5
    ) -> None:
        """`reading` is how long a person reads at least; a loaded machine may need that long to paste."""
        self.reading = reading
        env = {**os.environ, "HOME_OF_RUNS": str(folder), "LEVEL": level.name, "BUSY": str(busy), "NO_COLOR": "1"}
        env |= {"TERM": "dumb", "READING": str(reading), **({"LADDER": "1"} if ladder else {})}
        self.folder, self.level = folder, level
        self.child = pexpect.spawn(
            sys.executable, ["-c", SCRIPT], env=env, encoding="utf-8", timeout=seconds(30), dimensions=(80, 150)
        )
        self.child.expect("READY")
        self.child.delaybeforesend = None

    @property
    def yes(self) -> str:
        return PHRASE if self.level >= Gate.TYPED else "y"

    @property
    def prompt(self) -> str:
        return r"\[\?\] why(?: this gate)?(?:  \[s\] skip)?\)? > "

    def paste(self, text: str) -> None:
        """At once, as a terminal hands over what was pasted."""
        self.child.send(text)

    def answers(self, text: str) -> None:
        """As a person does: the screen is read first."""
        self.child.delaybeforesend = max(READS, reading_seconds(text) - READING + self.reading + 0.2)
        self.child.sendline(text)
        self.child.delaybeforesend = None

    def ends(self) -> str:
        self.child.expect(pexpect.EOF)
        text: str = self.child.before
        self.child.close()
        return text

    def journal(self) -> list[dict[str, Any]]:
        (path,) = self.folder.rglob("journal.ndjson")
        return [json.loads(line) for line in path.read_text().splitlines()]

    def of_type(self, name: str) -> list[dict[str, Any]]:
        return [r for r in self.journal() if r["type"] == name]


LEVELS = [Gate.PLAN, Gate.STEP, Gate.TYPED, Gate.TWO_PERSON]


@pytest.fixture(params=LEVELS, ids=lambda level: level.word)
def at_each(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Desk]:
    return lambda **more: Desk(tmp_path, request.param, **more)


@pytest.fixture(params=[Gate.PLAN, Gate.TYPED], ids=lambda level: level.word)
def at(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Desk]:
    return lambda **more: Desk(tmp_path, request.param, **more)


def test_what_was_typed_before_the_run_began_answers_no_gate(at_each: Callable[..., Desk]) -> None:
    desk = at_each(busy=0.5)
    desk.paste(f"\n{desk.yes}\n{desk.yes}\n{desk.yes}\n")
    desk.child.expect(desk.prompt)
    assert desk.of_type("step.intent") == []
    desk.answers(desk.yes)
    assert "step.intent" in {r["type"] for r in _ended(desk)}
    (answered,) = desk.of_type("gate.answered")
    assert answered["passed"]
    assert answered["latency_s"] >= READS


def test_a_line_that_was_begun_before_the_screen_stood_is_not_part_of_the_answer(at: Callable[..., Desk]) -> None:
    desk = at(busy=0.5)
    desk.paste(f"\n{desk.yes}")
    desk.child.expect(desk.prompt)
    desk.answers("")
    if desk.level < Gate.TYPED:
        desk.child.expect("Not a valid answer.")
        desk.child.expect(desk.prompt)
        desk.answers("n")
    assert {r["type"] for r in _ended(desk)} & {"step.intent"} == set()


def test_an_answer_faster_than_a_person_reads_is_not_taken(at_each: Callable[..., Desk]) -> None:
    desk = at_each(reading=4.0)
    desk.paste("\n")
    desk.child.expect(desk.prompt)
    desk.paste(f"{desk.yes}\n")
    desk.child.expect("too fast to have read this screen")
    desk.child.expect(desk.prompt)
    assert desk.of_type("step.intent") == []
    desk.answers(desk.yes)
    records = _ended(desk)
    (early,) = (r for r in records if r["type"] == "gate.early")
    assert early["seconds"] < early["least"] == pytest.approx(reading_seconds(desk.yes) - READING + 4.0, abs=0.001)
    assert "step.intent" in {r["type"] for r in records}


def test_of_a_pasted_block_no_line_answers(at_each: Callable[..., Desk]) -> None:
    desk = at_each()
    desk.paste("\n")
    desk.child.expect(desk.prompt)
    desk.paste(f"{desk.yes}\n" * 20)
    desk.child.expect(desk.prompt)
    assert desk.of_type("step.intent") == []
    desk.answers("n")
    assert "step.intent" not in {r["type"] for r in _ended(desk)}


def test_who_answers_at_once_again_and_again_is_no_person(at: Callable[..., Desk]) -> None:
    desk = at(reading=20.0)
    desk.paste("\n")
    for _ in range(3):
        desk.child.expect(desk.prompt)
        desk.paste(f"{desk.yes}\n")
    records = _ended(desk)
    assert [r["type"] for r in records].count("gate.early") == 3
    assert "step.intent" not in {r["type"] for r in records}


def test_what_was_typed_between_two_screens_answers_neither(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Gate.PLAN, ladder=True)
    desk.paste("\n")
    desk.child.expect(desk.prompt)
    desk.answers("y")
    desk.child.expect(r"nudge: accepted")
    desk.paste("y\ny\n")
    desk.child.expect(desk.prompt)
    desk.answers("n")
    records = _ended(desk)
    assert [r["step"] for r in records if r["type"] == "step.intent"] == ["nudge"]
    assert [r["answer"] for r in records if r["type"] == "gate.answered"] == ["yes", "no"]


def test_an_answer_of_several_lines_is_a_pasted_block_and_no_answer(at_each: Callable[..., Desk]) -> None:
    """However late it comes."""
    desk = at_each()
    desk.paste("\n")
    desk.child.expect(desk.prompt)
    desk.answers(f"{desk.yes}\n{desk.yes}\n{desk.yes}")
    desk.child.expect("Not a valid answer.")
    desk.child.expect(desk.prompt)
    desk.answers("n")
    assert "step.intent" not in {r["type"] for r in _ended(desk)}


@pytest.mark.parametrize("key", ["d", "?", "r"])
def test_after_details_the_question_is_answered_anew(at: Callable[..., Desk], key: str) -> None:
    desk = at()
    desk.paste("\n")
    desk.child.expect(desk.prompt)
    desk.answers(f"{key}\n{desk.yes}")
    desk.child.expect(desk.prompt)
    desk.answers("n")
    assert "step.intent" not in {r["type"] for r in _ended(desk)}


def test_ctrl_c_at_a_screen_ends_the_run_as_before(at: Callable[..., Desk]) -> None:
    desk = at()
    desk.paste("\n")
    desk.child.expect(desk.prompt)
    desk.child.sendintr()
    assert _ended(desk)[-1]["outcome"] == "interrupted"


def _ended(desk: Desk) -> list[dict[str, Any]]:
    desk.ends()
    return desk.journal()
