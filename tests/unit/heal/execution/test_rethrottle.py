"""A request for another throttle: it is carried out while copies are throttled, and never below the least rate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kfix.core.args import Args
from kfix.core.errors import UsageError
from kfix.heal.execution.rethrottle import LEAST_RATE, poll, request_throttle
from kfix.heal.model.plan import Phase, Plan, PlannedStep
from tests.each import for_each
from tests.unit.heal.execution.parts import parts
from tests.unit.heal.stage import Stage

FILE = "throttle.request.json"


@pytest.fixture
def weak(tmp_path: Path) -> Stage:
    return Stage("weak-topic", tmp_path, runbook="raise-topic-rf")


def throttled(stage: Stage) -> tuple[Plan, list[PlannedStep], list[PlannedStep]]:
    """Returns a plan with throttles, the steps that set them, and those that restore them."""
    plan = stage.plan(Args({"topic": "orders"}))
    return plan, [s for s in plan.steps if s.action == "throttle.rate"], [*plan.restoring]


def polled(stage: Stage, text: str, *issued: PlannedStep) -> list[dict[str, Any]]:
    plan, _, _ = throttled(stage)
    with parts(stage, plan) as (run, records):
        run.progress.issued.extend(issued)
        path = run.folder.path / FILE
        path.write_text(text, encoding="utf-8")
        poll(run)
        assert not path.exists()
    return records


def request(rate: object) -> str:
    return json.dumps({"rate": rate, "by": "anna"})


def test_each_throttle_that_was_set_gets_the_rate_and_no_other(weak: Stage) -> None:
    _, [first, *_], _ = throttled(weak)
    sent = [record for record in polled(weak, request(LEAST_RATE), first) if record["type"] == "throttle.intent"]
    assert [(record["step"], record["args"]["rate"], record["by"]) for record in sent] == [
        (first.id, LEAST_RATE, "anna")
    ]


@for_each("text", ["", "[]", "{}", *map(request, ("x", None, -1, 0, 1, LEAST_RATE - 1))])
def test_what_is_no_request_or_below_the_least_rate_changes_nothing(tmp_path: Path, text: str) -> None:
    weak = Stage("weak-topic", tmp_path, runbook="raise-topic-rf")
    _, [first, *_], _ = throttled(weak)
    [note] = polled(weak, text, first)
    assert "not a request made by kfix" in note["text"]
    assert weak.methods() == []


def test_once_a_throttle_was_removed_a_request_is_ignored(weak: Stage) -> None:
    _, rates, [first_restored, *_] = throttled(weak)
    assert first_restored.phase is Phase.ALWAYS
    [note] = polled(weak, request("7MB/s"), *rates, first_restored)
    assert "already removed" in note["text"]
    assert weak.methods() == []


def test_a_rate_below_the_least_one_is_not_even_requested(weak: Stage, tmp_path: Path) -> None:
    plan, _, _ = throttled(weak)
    with pytest.raises(UsageError, match="too low"):
        request_throttle(tmp_path, plan, f"{LEAST_RATE - 1}B/s", "anna")
    assert not (tmp_path / FILE).exists()
    assert request_throttle(tmp_path, plan, "1KB/s", "anna") == LEAST_RATE
