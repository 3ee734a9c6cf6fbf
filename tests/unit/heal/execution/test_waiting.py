"""A wait shows what it waits for and until when: check, observed, wanted, a clock time and the seconds left."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kfix.core.errors import NotProvedError, StoppedError, UnreachableError
from kfix.front.console import console_on
from kfix.heal.actions.base import Copied
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution.waiting import Wait, report_copies
from kfix.heal.journal.journal import Journal
from kfix.heal.report.run import RunReporter
from kfix.heal.report.words import ProgressLine, wait_words
from tests.unit.heal.execution.parts import growing, opened
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


# How far copies have come: bytes, rate and time left, and nothing is said of a time that is unknown.


@pytest.mark.parametrize(
    ("copied", "rate", "left"),
    [
        ([Copied(0, 500), Copied(200, 500)], 100, 3),
        ([Copied(200, 500), Copied(200, 500)], 0, None),
        ([Copied(0, None), Copied(200, None)], 100, None),
        ([Copied(500, 500), Copied(100, 500)], None, None),
        ([Copied(0, 100), Copied(200, 100)], 100, 0),
        ([UnreachableError("gone"), Copied(200, 500)], None, None),
    ],
    ids=["they advance", "they stand still", "their size is unknown", "the next batch", "more than expected", "unread"],
)
def test_the_time_left_follows_from_the_rate_and_is_unknown_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copied: list[Copied], rate: int | None, left: int | None
) -> None:
    stage, answers = Stage("weak-topic", tmp_path, runbook="raise-topic-rf"), iter(copied)
    plan, step = growing(stage)
    monkeypatch.setattr(type(ACTIONS[step.action]), "copied", lambda *_: _next(answers))
    clock, records = stage.cluster.clock, list[dict[str, Any]]()
    with (tmp_path / "journal.ndjson").open("wb") as file:
        journal = Journal(file, {}, clock, lambda record: records.append(dict(record)))
        run = opened(stage, plan, journal)
        for _ in copied:
            report_copies(run, [step], Wait("", "a check", "", "", 3.0, 9.0))
            clock.sleep(2.0)
    assert (records[-1]["bytes_per_second"], records[-1]["seconds_left"]) == (rate, left)
    assert records[0]["type"] == ("wait" if isinstance(copied[0], UnreachableError) else "progress")


def test_the_rate_is_that_of_the_last_half_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copies were slow for a minute, and are ten times as fast since."""
    stage = Stage("weak-topic", tmp_path, runbook="raise-topic-rf")
    plan, step = growing(stage)
    clock, records = stage.cluster.clock, list[dict[str, Any]]()
    began = clock.monotonic()

    def copied(*_: object) -> Copied:
        passed = round(clock.monotonic() - began)
        return Copied(passed if passed <= 60 else 60 + 10 * (passed - 60), 1000)

    monkeypatch.setattr(type(ACTIONS[step.action]), "copied", copied)
    with (tmp_path / "journal.ndjson").open("wb") as file:
        journal = Journal(file, {}, clock, lambda record: records.append(dict(record)))
        run = opened(stage, plan, journal)
        for _ in range(50):
            report_copies(run, [step])
            clock.sleep(2.0)
    assert {record["bytes_per_second"] for record in records[1:31]} == {1}
    assert records[-1]["bytes_per_second"] == 10
    assert records[-1]["seconds_left"] == round((1000 - records[-1]["bytes_done"]) / 10)


def _next(answers: Iterator[Copied | UnreachableError]) -> Copied:
    answer = next(answers)
    if isinstance(answer, UnreachableError):
        raise answer
    return answer
