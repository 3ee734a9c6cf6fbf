"""What people read, to the letter: plan, gates, run, pages."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from kfix.front.console import console_on
from kfix.heal.plan.steps import explain
from kfix.heal.report.page import page
from kfix.heal.report.plan import print_plan, print_runbooks
from kfix.heal.report.run import RunReporter, closing
from kfix.heal.runbook.catalogue import load, load_all
from tests.unit.heal import golden
from tests.unit.heal.stage import Answers, Stage, leave_stuck

Stages = Callable[[str], Stage]


@pytest.mark.parametrize(
    "incident",
    [
        "coordinator-stuck",
        "coordinator-stuck-preferred-alive",
        "coordinator-stuck-five-partitions",
        "metadata-divergence",
    ],
)
def test_the_plan(stages: Stages, incident: str) -> None:
    plan = stages(incident).plan()
    out = io.StringIO()
    print_plan(plan, explain(plan), console_on(out))
    golden.check(f"plan-{incident}", out.getvalue().replace(plan.short_id, "PLAN-ID8"))


def test_the_gates_of_the_whole_ladder(stage: Stage) -> None:
    leave_stuck(stage, "reassign")
    leave_stuck(stage, "elect")
    stage.human = Answers(["d", "?", "y", "y", "d", "?", "y"])
    plan = stage.plan()
    stage.run(plan)
    golden.check("gates", "\n\n".join(stage.human.shown).replace(plan.short_id, "PLAN-ID8"))


def test_a_run_as_it_is_printed(stage: Stage) -> None:
    leave_stuck(stage, "reassign")
    plan = stage.plan()
    out = io.StringIO()
    console = console_on(out)
    healed = stage.run(plan, listener=RunReporter(plan, console))
    console.print(closing(plan, healed.changed, healed.seconds, healed.run))
    golden.check("run", out.getvalue().replace(plan.short_id, "PLAN-ID8"))


def test_a_run_whose_answer_was_lost(stage: Stage) -> None:
    stage.cluster.faults.lose_answer("reassign", applied=True)
    plan = stage.plan()
    out = io.StringIO()
    stage.run(plan, listener=RunReporter(plan, console_on(out)))
    golden.check("run-lost-answer", out.getvalue().replace(plan.short_id, "PLAN-ID8"))


def test_the_list() -> None:
    out = io.StringIO()
    print_runbooks(load_all(None), console_on(out))
    golden.check("list", out.getvalue())


@pytest.mark.parametrize("name", ["coordinator-stuck", "metadata-divergence"])
def test_the_page(name: str) -> None:
    golden.check(f"show-{name}", page(load(name, None)))


def test_piped_text_has_no_colour(stage: Stage) -> None:
    plan = stage.plan()
    out = io.StringIO()
    print_plan(plan, explain(plan), console_on(out))
    assert "\x1b" not in out.getvalue()


def test_an_output_that_is_gone_does_not_disturb_a_run(stage: Stage) -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    plan = stage.plan()
    assert stage.run(plan, listener=RunReporter(plan, console_on(Gone()))).changed
