"""Proof: what was approved is what ran, byte for byte, in the journal and at the cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.plan.planfile import to_plain
from kfix.heal.safety.outcomes import Outcome
from tests.proofs.calls import CALLS, CHANGES_NOTHING, expected_call
from tests.proofs.scenarios import RUNBOOKS, SCENARIOS, SHIPPED, Scenario
from tests.proofs.stage import Stage, too_often


def canonical(value: object) -> bytes:
    return json.dumps(to_plain(value), sort_keys=True, separators=(",", ":")).encode()


def test_every_action_has_its_call_written_down() -> None:
    assert CALLS.keys() | CHANGES_NOTHING == ACTIONS.keys()
    assert {name for name, action in ACTIONS.items() if not action.changes} == CHANGES_NOTHING


def test_the_scenes_are_all_the_runbooks_and_all_their_tests_that_heal() -> None:
    assert {s.runbook for s in SCENARIOS.values()} == RUNBOOKS.keys()
    assert len(SHIPPED) == sum(t.expect.healed for r in RUNBOOKS.values() for t in r.tests) > 0


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=str)
@pytest.mark.parametrize("flags", [False, True], ids=["keyboard", "flags"])
def test_what_ran_is_what_was_approved(scenario: Scenario, flags: bool, home: Path) -> None:
    stage = Stage(scenario, home)
    plan = stage.plan()
    assert stage.calls == []
    by_flags = flags and scenario.at_the_gate is SHIPPED["leader-balance"].at_the_gate
    healed = stage.run(plan, given=stage.flags(plan)) if by_flags else stage.run(plan)
    assert healed.outcome is Outcome.PROVED

    steps = {s.id: s for s in plan.steps}
    intents = [r for r in stage.journal() if r["type"] == "step.intent"]
    for intent in intents:
        assert canonical(intent["args"]) == canonical(steps[intent["step"]].args)
        assert intent["action"] == steps[intent["step"]].action
    assert len({r["step"] for r in intents}) == len(intents)
    assert stage.calls == [expected_call(steps[r["step"]]) for r in intents]
    assert not too_often(stage.calls, plan)
    numbers = [list(steps).index(r["step"]) for r in intents]
    main = [n for n in numbers if plan.steps[n].phase == "main"]
    assert main == sorted(main)
    kept = stage.last_run.plan()
    assert kept == plan
