"""How far copies have come: bytes, rate and time left, and nothing is said of a time that is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kfix.core.errors import UnreachableError
from kfix.heal.actions.base import Copied
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution.waiting import Meter, Wait, Waits
from kfix.heal.journal.journal import Journal
from tests.unit.heal.execution.parts import growing, opened
from tests.unit.heal.stage import Stage


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
        meter = Meter(run, Waits(run))
        for _ in copied:
            meter.poll([step], Wait("", "a check", "", "", 3.0, 9.0))
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
        meter = Meter(run, Waits(run))
        for _ in range(50):
            meter.poll([step])
            clock.sleep(2.0)
    assert {record["bytes_per_second"] for record in records[1:31]} == {1}
    assert records[-1]["bytes_per_second"] == 10
    assert records[-1]["seconds_left"] == round((1000 - records[-1]["bytes_done"]) / 10)


def _next(answers: Iterator[Copied | UnreachableError]) -> Copied:
    answer = next(answers)
    if isinstance(answer, UnreachableError):
        raise answer
    return answer
