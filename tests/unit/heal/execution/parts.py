"""The parts of a run that is not started: what they do by themselves, on the in-memory cluster of a stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kfix.core.args import Args
from kfix.heal.execution.components import Components
from kfix.heal.execution.context import RunProgress
from kfix.heal.execution.locks import Locked
from kfix.heal.journal.journal import Journal
from kfix.heal.model.plan import Plan, PlannedStep
from kfix.heal.plan.planfile import seal
from kfix.heal.safety.drift import PlannedFacts
from tests.unit.heal.stage import Stage


def growing(stage: Stage) -> tuple[Plan, PlannedStep]:
    """Returns the plan of a topic that gets more replicas, and the first of its moves."""
    plan = stage.plan(Args({"topic": "orders"}))
    return plan, next(step for step in plan.steps if step.action == "reassign.move")


@contextmanager
def parts(stage: Stage, plan: Plan) -> Iterator[tuple[Components, list[dict[str, Any]]]]:
    """Yields the parts of a run of this plan, sealed again, and the records that they write."""
    plan = seal(plan)
    context, records = stage.context(), list[dict[str, Any]]()
    run = stage.store.create(plan, context.clock.now())
    with run.path.joinpath("test.ndjson").open("wb") as file:
        journal = Journal(file, {}, context.clock, lambda record: records.append(dict(record)))
        passage, locked = context.door.admit(plan), Locked("nobody", None)
        yield (
            Components(plan, context, run, locked, journal, PlannedFacts(plan.facts), RunProgress(), passage),
            records,
        )
