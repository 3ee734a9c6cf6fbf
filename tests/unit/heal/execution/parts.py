"""The parts of a run that is not started: what they do by themselves, on the in-memory cluster of a stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any

from kfix.core.args import Args
from kfix.heal.execution.context import Locked, OpenRun
from kfix.heal.journal.journal import Journal
from kfix.heal.journal.replay import Replay
from kfix.heal.model.plan import Plan, PlannedStep
from kfix.heal.plan.planfile import seal
from tests.unit.heal.stage import Stage


def growing(stage: Stage) -> tuple[Plan, PlannedStep]:
    """Returns the plan of a topic that gets more replicas, and the first of its moves."""
    plan = stage.plan(Args({"topic": "orders"}))
    return plan, next(step for step in plan.steps if step.action == "reassign.move")


def opened(stage: Stage, plan: Plan, journal: Journal) -> OpenRun:
    """Returns a run of this plan that writes to this journal."""
    context = stage.context()
    folder = stage.store.create(plan, context.clock.now())
    return OpenRun.of(plan, context, folder, context.door.admit(plan), Locked("", None), journal, Replay())


@contextmanager
def parts(stage: Stage, plan: Plan) -> Iterator[tuple[OpenRun, list[dict[str, Any]]]]:
    """Yields a run of this plan, sealed again, and the records that it writes."""
    plan = seal(plan)
    records = list[dict[str, Any]]()
    with TemporaryFile("wb") as file:
        journal = Journal(file, {}, stage.cluster.clock, lambda record: records.append(dict(record)))
        yield opened(stage, plan, journal), records
