"""The parts of a run that is not started: what they do by themselves, on the in-memory cluster of a stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any

from kfix.core.args import Args
from kfix.core.clock import RunTime
from kfix.heal.execution.components import Components
from kfix.heal.execution.context import OpenRun, RunProgress
from kfix.heal.journal.journal import Journal, Samples
from kfix.heal.model.plan import Plan, PlannedStep
from kfix.heal.plan.planfile import seal
from kfix.heal.safety.refusals import PlannedFacts
from tests.unit.heal.stage import Stage


def growing(stage: Stage) -> tuple[Plan, PlannedStep]:
    """Returns the plan of a topic that gets more replicas, and the first of its moves."""
    plan = stage.plan(Args({"topic": "orders"}))
    return plan, next(step for step in plan.steps if step.action == "reassign.move")


def opened(stage: Stage, plan: Plan, journal: Journal, progress: RunProgress | None = None) -> OpenRun:
    """Returns a run of this plan that writes to this journal."""
    context = stage.context()
    clock = context.clock
    return OpenRun(
        plan=plan,
        context=context,
        folder=stage.store.create(plan, clock.now()),
        passage=context.door.admit(plan),
        lock=None,
        journal=journal,
        baseline=PlannedFacts(plan.facts),
        progress=progress or RunProgress(),
        samples=Samples(journal),
        began=clock.monotonic(),
        run_time=RunTime.begins(clock),
    )


@contextmanager
def parts(stage: Stage, plan: Plan) -> Iterator[tuple[Components, list[dict[str, Any]]]]:
    """Yields the parts of a run of this plan, sealed again, and the records that they write."""
    plan = seal(plan)
    records = list[dict[str, Any]]()
    with TemporaryFile("wb") as file:
        journal = Journal(file, {}, stage.cluster.clock, lambda record: records.append(dict(record)))
        yield Components(opened(stage, plan, journal)), records
