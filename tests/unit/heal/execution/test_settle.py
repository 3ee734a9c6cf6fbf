"""A step that cannot be verified: unknown is not verified, and a pause may resolve why a wait is in vain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.heal.execution import settle, watch
from kfix.heal.model.answer import Verdict
from tests.unit.heal.execution.parts import parts
from tests.unit.heal.stage import Stage


def test_a_step_whose_checks_are_unknown_is_not_verified(stage: Stage) -> None:
    plan = stage.plan()
    step = next(each for each in plan.steps if each.action == "reassign.noop")
    with parts(stage, plan) as (run, records):
        stage.cluster.faults.unreadable["partition"] = "gone"
        [found] = settle.wait(run, [step])
    assert (found.step, found.verdict) == (step, Verdict.INCONCLUSIVE)
    assert "step.verified" not in [record["type"] for record in records]


@pytest.mark.parametrize("timeout", [1.0, 5.0, 60.0])
def test_no_step_is_waited_for_longer_than_its_time(stage: Stage, timeout: float) -> None:
    plan, clock = stage.plan(), stage.cluster.clock
    step = replace(next(each for each in plan.steps if each.action == "reassign.noop"), verify_timeout=timeout)
    with parts(stage, plan) as (run, _):
        began = clock.monotonic()
        [found] = settle.wait(run, [step])
    assert found.verdict is Verdict.FAIL
    assert timeout - 2.0 <= clock.monotonic() - began <= timeout


@pytest.mark.parametrize("resolved", [True, False])
def test_a_wait_in_vain_ends_unless_a_pause_resolved_the_reason(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, resolved: bool
) -> None:
    plan = stage.plan()
    step = next(each for each in plan.steps if each.action == "reassign.noop")
    why = ["its broker is dead"]

    def pause() -> None:
        if resolved:
            why.clear()
            stage.cluster.reassign(step.args.tp(), step.args.brokers("replicas"))

    monkeypatch.setattr(watch, "hopeless", lambda *_: "".join(why))
    with parts(stage, plan) as (run, _):
        monkeypatch.setattr(watch, "invariants", lambda _run: pause())
        found = settle.wait(run, [step])
    assert [(each.verdict, each.text) for each in found] == ([] if resolved else [(Verdict.FAIL, why[0])])
