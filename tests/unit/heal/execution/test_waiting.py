"""A wait shows what it waits for and until when: check, observed, wanted, a clock time and the seconds left."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from kfix.core.errors import NotProvedError, StoppedError
from kfix.front.console import console_on
from kfix.heal.report.run import RunReporter
from kfix.heal.report.words import ProgressLine, wait_words
from tests.unit.heal.stage import Answers, Stage, leave_stuck

WAIT: Mapping[str, Any] = {
    "type": "wait",
    "step": "nudge",
    "check": "partition_has_leader(partition=orders-0)",
    "observed": "leader -1",
    "wanted": "a live leader",
    "until": "2026-09-21T14:13:20.000Z",
    "seconds_left": 95,
}


class OnTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def waits(stage: Stage) -> list[dict[str, Any]]:
    return [r for r in stage.journal() if r["type"] == "wait"]


def test_a_step_without_effect_shows_what_is_missing_and_until_when_it_waits(stage: Stage) -> None:
    leave_stuck(stage, "reassign")
    stage.human = Answers(["y", "n"])
    with pytest.raises(StoppedError):
        stage.run()
    first = waits(stage)[0]
    assert first["step"] == "nudge"
    assert first["check"].startswith("partition_has_leader(")
    assert first["observed"]
    assert first["wanted"]
    assert 0 < first["seconds_left"] <= 5
    end = datetime.fromisoformat(first["until"]).timestamp()
    assert end == pytest.approx(datetime.fromisoformat(first["t"]).timestamp() + first["seconds_left"], abs=1)


def test_the_proof_shows_it_too(stage: Stage) -> None:
    leave_stuck(stage, "reassign", 5)
    leave_stuck(stage, "elect", 5)
    leave_stuck(stage, "reelect_controller", 5)
    with pytest.raises((NotProvedError, StoppedError)):
        stage.run()
    assert any("step" not in r for r in waits(stage))


def test_what_comes_about_at_once_needs_no_words(stage: Stage) -> None:
    stage.run()
    assert waits(stage) == []


def test_in_a_pipe_it_is_reported_now_and_then(stage: Stage) -> None:
    out = io.StringIO()
    line = ProgressLine(console_on(out))
    for seconds in (0.0, 5.0, 59.0, 61.0):
        line.show(seconds, WAIT)
    told = out.getvalue().splitlines()
    assert len(told) == 2
    assert (
        told[0]
        .strip()
        .startswith("0.00 s  nudge: waiting until 14:13:20 UTC at the latest (1 min 35 s left) for partition_has")
    )
    assert told[0].endswith("leader -1; expected: a live leader")


def test_on_a_terminal_it_is_one_line_that_is_written_over(stage: Stage) -> None:
    leave_stuck(stage, "reassign")
    out = OnTerminal()
    plan = stage.plan()
    stage.run(plan, listener=RunReporter(plan, console_on(out)))
    assert "\r" in out.getvalue()
    assert "nudge: waiting until " in out.getvalue()


def test_the_words_of_a_wait_that_no_step_has() -> None:
    bare = {k: v for k, v in WAIT.items() if k != "step"}
    assert wait_words(bare).startswith(
        "waiting until 14:13:20 UTC at the latest (1 min 35 s left) for partition_has_leader"
    )
