"""A plan is literal, frozen and checked when it comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kfix.core.args import Args
from kfix.core.errors import RefusedError, UnreachableError, UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.model.plan import Gate
from kfix.heal.plan import planfile
from kfix.heal.plan.steps import explain
from kfix.heal.planning.origin import refuse_forged
from kfix.heal.planning.planner import AlreadyMet, make_plan
from tests.shipped import changed
from tests.unit.heal.stage import Stage, created, reseal

Stages = Callable[[str], Stage]


def test_the_remedies_come_in_the_order_of_least_harm(stages: Stages) -> None:
    plan = stages("coordinator-stuck-preferred-alive").plan()
    assert [s.action for s in plan.steps] == [
        "leader.elect_preferred",
        "reassign.noop",
        "controller.reelect",
    ]
    assert [s.gate for s in plan.steps] == [Gate.PLAN, Gate.PLAN, Gate.STEP]
    of_two = stages("coordinator-stuck-of-two-replicas").plan()
    assert [s.action for s in of_two.steps] == ["reassign.noop", "leader.elect_isr", "controller.reelect"]


def test_a_branch_that_is_not_taken_shows_why(stage: Stage) -> None:
    skipped, unclean = stage.plan().skipped_at_plan
    assert (unclean.step, "(broker 3) and would be elected" in unclean.reason) == ("elect-isr", True)
    assert (skipped.step, skipped.reason) == ("elect-preferred", "the preferred replica 3 is not in the live ISR [2]")


def test_a_plan_holds_no_template(stage: Stage) -> None:
    assert "${" not in planfile.to_json(stage.plan())


def test_all_partitions_of_one_finding_become_literal_steps(stages: Stages) -> None:
    stage = stages("coordinator-stuck-five-partitions")
    nudges = [s for s in stage.plan().steps if s.action == "reassign.noop"]
    assert [s.args.tp() for s in nudges] == list(stage.finding.partitions)
    assert stage.plan().impact.partitions == 5


def test_what_a_person_does_once_is_one_step_for_all_its_partitions(stages: Stages) -> None:
    stage = stages("under-min-isr")
    offsets = tuple(TopicPartition("__consumer_offsets", number) for number in range(10))
    stage.finding = replace(stage.finding, partitions=(*offsets, *stage.finding.partitions))
    plan = stage.plan()
    [step] = (step for step in plan.steps if step.action == "manual.bring_back")
    assert step.what.startswith("__consumer_offsets-0, __consumer_offsets-1, __consumer_offsets-2 and 8 more: start ")
    assert [call.args.tp() for call in step.verify] == list(stage.finding.partitions)
    assert plan.impact.partitions == 11
    refuse_forged(plan, stage.runbook)


def test_the_same_world_gives_the_same_plan_id(stage: Stage, tmp_path: Path) -> None:
    other = Stage("coordinator-stuck", tmp_path / "other")
    assert stage.plan().plan_id == other.plan().plan_id
    other.cluster.clock.sleep(1)
    assert stage.plan().plan_id != other.plan().plan_id


def test_a_plan_comes_back_as_it_went(stage: Stage) -> None:
    plan = stage.plan()
    assert planfile.from_json(planfile.to_json(plan), "p") == plan


def test_a_plan_file_is_private_and_never_overwritten(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    planfile.write(stage.plan(), path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="exists and is not overwritten"):
        planfile.write(stage.plan(), path)


def test_every_fact_of_the_read_set_is_in_some_steps_pre(stage: Stage) -> None:
    plan = stage.plan()
    assert {f.key for f in plan.facts} == {key for s in plan.steps for key in s.pre}
    assert next(f for f in plan.facts if f.key.endswith(".isr")).version == 2


def test_the_impact_is_that_of_the_worst_case(stage: Stage) -> None:
    impact = stage.plan().impact
    assert (impact.partitions, impact.replicas_moved, impact.bytes) == (1, 0, 0)
    assert impact.max_loss == stage.plan().steps[-1].estimate.max_loss


def test_a_plan_for_typed_steps_lives_five_minutes_only(stage: Stage) -> None:
    plan = stage.plan()
    assert plan.expires_at - plan.created.at == 30 * 60
    first = stage.runbook.steps[1]
    stage.runbook = changed(stage.runbook, steps=[changed(first, gate=Gate.TYPED)])
    typed = stage.plan()
    assert typed.expires_at - typed.created.at == 5 * 60
    assert typed.steps[0].phrase == "memory-cluster/__consumer_offsets-26/replicas 3,1,2"


def test_over_the_cap_the_planner_refuses_and_cuts_nothing(stages: Stages) -> None:
    stage = stages("coordinator-stuck-five-partitions")
    stage.runbook = changed(stage.runbook, limits=changed(stage.runbook.limits, max_partitions=4))
    with pytest.raises(RefusedError, match=r"5 partitions; the limit is 4 \(limits.max_partitions"):
        stage.plan()


def test_no_partition_at_all_is_an_error_and_not_nothing(stage: Stage) -> None:
    stage.finding = replace(stage.finding, partitions=())
    with pytest.raises(RefusedError, match="names no partition"):
        stage.plan()


def test_a_runbook_is_not_planned_for_a_finding_of_another(stage: Stage) -> None:
    stage.finding = replace(stage.finding, code="KFX301")
    with pytest.raises(RefusedError, match="is for KFX101, KFX102, not for KFX301"):
        stage.plan()


def test_a_fact_that_the_finding_lacks_decides_nothing(stage: Stage) -> None:
    stage.finding = replace(stage.finding, facts={})
    with pytest.raises(RefusedError, match=r"has no fact finding\.group"):
        stage.plan()


def test_a_source_that_is_silent_makes_no_plan(stage: Stage) -> None:
    stage.cluster.faults.unreadable["zookeeper"] = "no answer in time"
    with pytest.raises((RefusedError, UnreachableError), match="no answer in time"):
        stage.plan()


def test_a_goal_that_is_met_needs_no_plan(stage: Stage) -> None:
    stage.cluster.reassign(stage.finding.partitions[0], (3, 1, 2))
    now = stage.cluster.clock.now()
    made = make_plan(stage.runbook, stage.finding, stage.cluster, created=created(now))
    assert isinstance(made, AlreadyMet)


def test_a_reassignment_under_way_refuses_the_plan(stage: Stage) -> None:
    stage.cluster.reassign(TopicPartition("__consumer_offsets", 26), (3, 2))
    with pytest.raises(RefusedError, match="no_reassignment"):
        stage.plan()


def test_the_controller_is_not_replanned_under_a_migration(stages: Stages) -> None:
    plan = stages("coordinator-stuck-in-migration").plan()
    assert "controller.reelect" not in [s.action for s in plan.steps]
    assert any("migration to KRaft" in s.reason for s in plan.skipped_at_plan)


def test_nothing_is_planned_through_a_kraft_controller_that_has_taken_over(stages: Stages) -> None:
    stage = stages("coordinator-stuck")
    stage.cluster.records.kraft_epoch = 3
    with pytest.raises(RefusedError, match=r"KRaft controller 2 has taken over \(kraftControllerEpoch 3"):
        stage.plan()


def test_an_election_by_the_unclean_name_is_planned_only_with_a_live_isr_member(stages: Stages) -> None:
    with pytest.raises(RefusedError, match="partition_has_live_isr"):
        stages("coordinator-stuck-isr-dead").plan()


def test_the_group_of_the_finding_is_asked_where_it_lives_there(stage: Stage) -> None:
    from kfix.core.derive.coordinator import partition_of_group

    group = next(f"g{n}" for n in range(1000) if partition_of_group(f"g{n}", 50) == 26)
    stage.finding = replace(stage.finding, facts={**stage.finding.facts, "group": group})
    plan = stage.plan()
    assert [c.args["group"] for c in plan.goal.checks if "group" in c.args] == [group]
    assert not any("no group is known" in w for w in plan.warnings)


def test_parameters_of_a_runbook_change_the_plan(stage: Stage) -> None:
    assert stage.plan(Args({"prove_within": 7.0})).goal.timeout == 7.0


def test_explain_and_the_plan_list_the_same_steps(stage: Stage) -> None:
    plan = stage.plan()
    assert tuple(step for _, step in explain(plan)) == plan.steps


# -- the file comes back changed


def _edited(stage: Stage, edit: Callable[[dict[str, Any]], object]) -> str:
    data = json.loads(planfile.to_json(stage.plan()))
    edit(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d.update(expires_at=d["expires_at"] + 1),
        lambda d: d["steps"][0]["args"].update(replicas=[2]),
        lambda d: d["steps"].pop(),
        lambda d: d.update(extra=1),
        lambda d: d.update(plan_id="0" * 64),
    ],
)
def test_an_edited_plan_is_refused(stage: Stage, edit: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises(UsageError, match="the plan was edited after it was made"):
        planfile.from_json(_edited(stage, edit), "p.json")


def test_a_plan_cut_off_anywhere_is_refused(stage: Stage) -> None:
    text = planfile.to_json(stage.plan())
    for length in range(0, len(text) - 2, 97):
        with pytest.raises(UsageError, match=r"p\.json: not a"):
            planfile.from_json(text[:length], "p.json")


@pytest.mark.parametrize("text", ["[]", "{}", '{"schema": "kfix.plan/v9"}', "null", '{"a": NaN}', "[" * 100_000])
def test_what_is_no_plan_is_reported(text: str) -> None:
    with pytest.raises(UsageError, match=r"p\.json: not a"):
        planfile.from_json(text, "p.json")


def test_a_forged_plan_below_a_floor_is_refused(stage: Stage) -> None:
    plan = stage.plan()
    steps = (replace(plan.steps[1], gate=Gate.AUTO),)
    with pytest.raises(UsageError, match=r"below the floor 'step' of controller\.reelect"):
        planfile.from_json(planfile.to_json(reseal(plan, steps=steps)), "p")


def test_a_forged_plan_without_the_guards_is_refused(stage: Stage) -> None:
    plan = stage.plan()
    steps = (replace(plan.steps[0], require=()),)
    with pytest.raises(UsageError, match=r"guards or facts that reassign\.noop needs are missing"):
        planfile.from_json(planfile.to_json(reseal(plan, steps=steps)), "p")


def test_a_forged_plan_with_an_unknown_action_or_argument_is_refused(stage: Stage) -> None:
    plan = stage.plan()
    for change, says in (
        ({"action": "sh"}, "unknown action 'sh'"),
        ({"args": plan.steps[0].args.with_(x=1)}, "argument 'x' is missing or unexpected"),
    ):
        forged = reseal(plan, steps=(replace(plan.steps[0], **change),))
        with pytest.raises(UsageError, match=re.escape(says)):
            planfile.from_json(planfile.to_json(forged), "p")


def test_an_impact_without_partitions_names_what_is_touched(stage: Stage) -> None:
    steps = [step for step in stage.plan().steps if step.action == "controller.reelect"]
    plan = replace(stage.plan(), steps=tuple(steps))
    assert plan.impact.words(plan.widest_risk, " each").startswith("the whole cluster, no data copied, about 5 s each;")
