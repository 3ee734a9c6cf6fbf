"""What must hold right before a change: an answer that is unknown is never taken for a good one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kfix.core.args import Args
from kfix.core.clock import RunTime
from kfix.heal.execution import guards
from kfix.heal.model.plan import CheckCall
from kfix.heal.safety.outcomes import Outcome, Stop
from tests.each import for_each
from tests.unit.heal.execution.parts import parts
from tests.unit.heal.stage import Stage

HEALTHY, TOO_MANY = (CheckCall("brokers_live_at_least", Args({"n": n})) for n in (2, 9))


def unread(stage: Stage) -> None:
    stage.cluster.faults.unreadable["zookeeper"] = "gone"


@for_each(
    ("call", "before", "verdict"),
    [(HEALTHY, None, "pass"), (TOO_MANY, None, "fail"), (HEALTHY, unread, "inconclusive")],
)
def test_only_an_answer_that_passes_lets_a_run_begin_and_a_change_pass(
    stages: Callable[[str], Stage], call: CheckCall, before: Callable[[Stage], None] | None, verdict: str
) -> None:
    stage = stages("coordinator-stuck")
    plan = replace(stage.plan(), preconditions=(call,))
    step = replace(plan.steps[0], require=(call,))
    with parts(stage, plan) as (run, records):
        if before is not None:
            before(stage)
        for asked in (lambda: guards.preconditions(run), lambda: guards.check(run, step)):
            if verdict == "pass":
                asked()
                continue
            with pytest.raises(Stop, match="brokers_live_at_least") as stop:
                asked()
            assert stop.value.outcome is Outcome.REFUSED
    assert [each["verdict"] for each in records] == [verdict, verdict]
    stage.cluster.faults.unreadable.clear()


def test_the_time_of_a_run_is_never_set_back(stage: Stage) -> None:
    clock = stage.cluster.clock
    time, began = RunTime.begins(clock), clock.now()
    clock.sleep(10)
    clock.step(-3600)
    assert time.now() == pytest.approx(began + 10)
    clock.step(7200)
    assert time.now() == pytest.approx(began + 10 + 3600)
