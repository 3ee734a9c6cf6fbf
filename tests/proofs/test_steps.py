"""Steps that wait for people, that fail, that follow the proof; what a run still owes when it has ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.errors import ApprovalError, HeldError, KfixError, NotProvedError, RefusedError, StoppedError
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.execution.run import prove_again
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.model.plan import OnFailure, Plan
from kfix.heal.plan.planfile import seal
from kfix.heal.safety.outcomes import Outcome
from tests.proofs.later import once
from tests.proofs.scenarios import SCENARIOS, SHIPPED
from tests.proofs.stage import Stage, world


def nothing(_cluster: MemoryCluster) -> None:
    """A person who says yes and does nothing."""


@pytest.fixture
def by_hand(home: Path) -> Stage:
    """The last in-sync broker is dead: a person is told to start it."""
    return Stage(SCENARIOS["isr dead, brought back"], home)


def quick(plan: Plan, seconds: float = 2.0) -> Plan:
    return seal(replace(plan, steps=tuple(replace(s, verify_timeout=seconds) for s in plan.steps)))


def or_back(plan: Plan) -> Plan:
    """As a site's runbook may say: a step that fails takes all back."""
    return seal(replace(plan, steps=tuple(replace(s, on_failure=OnFailure.ROLLBACK) for s in plan.steps)))


# -- people


def test_a_step_for_a_person_without_a_terminal_shows_what_to_do_and_how_to_continue(by_hand: Stage) -> None:
    by_hand.person.interactive = False
    plan = by_hand.plan()
    with pytest.raises(ApprovalError) as caught:
        by_hand.run(plan)
    assert caught.value.exit_code == 4
    assert "needs to be done by hand" in str(caught.value)
    assert f"resume {by_hand.last_run.id} --did {plan.steps[0].id}" in caught.value.hint
    by_hand.cluster.revive(1)
    by_hand.cluster.advance(1)
    healed = by_hand.resume(plan.steps[0].id)
    assert healed.outcome is Outcome.PROVED
    assert "step.done_by_hand" in [r["type"] for r in by_hand.journal()]


def test_what_a_person_claims_to_have_done_is_accepted_once_it_is_seen(by_hand: Stage) -> None:
    by_hand.person.interactive = False
    plan = by_hand.plan()
    with pytest.raises(ApprovalError):
        by_hand.run(plan)
    step = plan.steps[0].id
    for _ in range(2):
        with pytest.raises(RefusedError, match=f"--did {step}"):
            by_hand.resume(step)
    with pytest.raises(RefusedError, match="the plan has no such step"):
        by_hand.resume("no-such-step")
    assert "step.done_by_hand" not in [r["type"] for r in by_hand.journal()]


def test_a_yes_without_the_deed_proves_nothing(by_hand: Stage) -> None:
    by_hand.person.does = nothing
    plan = by_hand.plan(within="3s", prove_within="3s")
    with pytest.raises(KfixError) as caught:
        by_hand.run(plan)
    assert caught.value.exit_code in {3, 5}
    assert by_hand.calls == []


def test_a_change_done_by_hand_is_not_done_again(home: Path) -> None:
    stage = Stage(SCENARIOS["durable-defaults"], home)
    plan = stage.plan()
    once(stage, lambda: setattr(stage.person, "says", "n"), type="step.verified", step="no-unclean")
    with pytest.raises(StoppedError, match="min-isr was not approved"):
        stage.run(plan)
    stage.person.says = "y"
    number = len(stage.calls)
    with pytest.raises(StoppedError, match="--did min-isr"):
        stage.resume("min-isr")
    stage.cluster.records.topic_configs["orders"]["min.insync.replicas"] = "2"
    assert stage.resume("min-isr").outcome is Outcome.PROVED
    assert len(stage.calls) == number


# -- a step that fails


def swallow(stage: Stage, method: str, times: int = 1) -> None:
    for _ in range(times):
        stage.cluster.faults.answer(method, ChangeResult(0, "NONE"))


def refuse(stage: Stage, method: str, times: int = 1) -> None:
    for _ in range(times):
        stage.cluster.faults.answer(method, ChangeResult(31, "CLUSTER_AUTHORIZATION_FAILED"))


FAILING: list[Callable[[Stage, str], None]] = [swallow, refuse]


@pytest.mark.parametrize("fail", FAILING)
@pytest.mark.parametrize("says", ["y", "n"])
def test_on_failure_ask(home: Path, fail: Callable[[Stage, str], None], says: str) -> None:
    stage = Stage(SCENARIOS["leader-balance"], home)
    plan = stage.plan()
    plan = quick(replace(plan, steps=tuple(replace(s, on_failure=OnFailure.ASK) for s in plan.steps)))
    fail(stage, "elect")

    def think() -> None:
        if "[y] continue" in stage.person.asked[-1]:
            stage.person.says = says

    stage.person.then = think
    with pytest.raises(KfixError) as caught:
        stage.run(plan)
    asked = [a for a in stage.person.asked if "[y] continue" in a]
    assert len(asked) == 1
    assert len(stage.calls) == (len(plan.steps) if says == "y" else 1)
    assert caught.value.exit_code == (5 if says == "y" else 6 if fail is swallow else 3)


@pytest.mark.parametrize("fail", FAILING)
def test_on_failure_stop_sends_nothing_more(home: Path, fail: Callable[[Stage, str], None]) -> None:
    stage = Stage(SCENARIOS["raise-topic-rf"], home)
    before = world(stage.cluster)
    plan = stage.plan()
    fail(stage, "alter_configs")
    with pytest.raises(KfixError, match="throttle-brokers:1 could not be verified"):
        stage.run(plan)
    assert {c.method for c in stage.calls} == {"alter_configs"}
    assert world(stage.cluster) == before


@pytest.mark.parametrize("fail", FAILING)
def test_on_failure_continue_leaves_one_and_goes_on_with_the_others(
    home: Path, fail: Callable[[Stage, str], None]
) -> None:
    stage = Stage(SCENARIOS["leader-balance"], home)
    plan = quick(stage.plan())
    assert [s.on_failure for s in plan.steps][1:] == [OnFailure.CONTINUE] * (len(plan.steps) - 1)
    plan = seal(replace(plan, steps=tuple(replace(s, on_failure=OnFailure.CONTINUE) for s in plan.steps)))
    fail(stage, "elect")
    with pytest.raises(NotProvedError) as caught:
        stage.run(plan)
    assert plan.steps[0].target in str(caught.value)
    assert len(stage.calls) == len(plan.steps)


@pytest.mark.parametrize("fail", FAILING)
def test_a_canary_that_fails_keeps_the_rest_from_being_tried(home: Path, fail: Callable[[Stage, str], None]) -> None:
    stage = Stage(SCENARIOS["leader-balance"], home)
    plan = quick(stage.plan())
    assert plan.steps[0].on_failure is OnFailure.STOP
    fail(stage, "elect")
    with pytest.raises(KfixError, match=f"step {plan.steps[0].id} could not be verified"):
        stage.run(plan)
    assert len(stage.calls) == 1


def test_a_refused_step_of_a_runbook_that_rolls_back_is_rolled_back(home: Path) -> None:
    stage = Stage(SCENARIOS["durable-defaults"], home)
    before = world(stage.cluster)
    plan = or_back(stage.plan())
    stage.cluster.faults.answer("alter_configs", ChangeResult(0, "NONE"), applied=True)
    refuse(stage, "alter_configs")
    with pytest.raises(KfixError) as caught:
        stage.run(plan)
    assert caught.value.exit_code == 7
    assert world(stage.cluster) == before


def test_a_refused_restore_is_reported(home: Path) -> None:
    stage = Stage(SCENARIOS["raise-topic-rf"], home)
    plan = stage.plan()
    once(stage, lambda: refuse(stage, "alter_configs"), type="step.verified", step="grow:orders-5")
    with pytest.raises(StoppedError, match="not restored: remove the replication throttles of topic orders") as caught:
        stage.run(plan)
    assert "CLUSTER_AUTHORIZATION_FAILED" in str(caught.value)
    assert stage.resume().outcome is Outcome.PROVED
    assert not any(world(stage.cluster).brokers.values())


# -- after the goal


def test_what_follows_the_goal_comes_after_the_proof_and_only_then(home: Path) -> None:
    stage = Stage(SCENARIOS["min isr after the goal"], home)
    plan = stage.plan()
    stage.run(plan)
    journal = stage.journal()
    proofs = [r["seq"] for r in journal if r.get("part") == "proof" and r["verdict"] == "pass"]
    (intent,) = [r["seq"] for r in journal if r["type"] == "step.intent" and r["step"] == "min-isr"]
    assert max(proofs) < intent

    other = Stage(SCENARIOS["min isr after the goal"], home.parent / "other")
    plan = other.plan(prove_within="3s", within="3s")
    swallow(other, "reassign", 12)
    with pytest.raises(KfixError):
        other.run(quick(plan))
    assert not other.cluster.records.topic_configs.get("__consumer_offsets")


# -- what a run owes


def test_a_standing_warning_is_shown_until_it_holds(home: Path) -> None:
    stage = Stage(SHIPPED["unclean-election"], home)
    healed = stage.run(stage.plan())
    assert [call.check for call, _ in healed.standing] == ["isr_full"]
    plan = stage.last_run.plan()
    proof, standing = prove_again(plan, stage.cluster, stage.cluster.clock)
    assert (proof.verdict, len(standing)) == ("pass", 1)
    stage.cluster.revive(1)
    stage.cluster.advance(1)
    stage.cluster.advance(1)
    proof, standing = prove_again(plan, stage.cluster, stage.cluster.clock)
    assert (proof.verdict, standing) == ("pass", ())


def test_the_cooldown_is_that_of_the_partitions(home: Path) -> None:
    """A finding of another name on the same partition waits; one on another partition does not."""
    stage = Stage(SCENARIOS["coordinator-stuck"], home)
    stage.run(stage.plan())
    plan = stage.last_run.plan()
    expires = stage.cluster.clock.now() + 600
    fresh = replace(plan, created=stage.created(), expires_at=expires)
    renamed = seal(replace(fresh, finding=replace(plan.finding, obj="called otherwise")))
    with pytest.raises(HeldError, match="its cooldown is") as caught:
        stage.run(renamed)
    assert caught.value.exit_code == 9
    other = (plan.finding.partitions[0]._replace(partition=7),)
    elsewhere = seal(replace(fresh, finding=replace(plan.finding, obj="another", partitions=other)))
    assert stage.run(elsewhere).outcome is Outcome.ALREADY_HEALTHY
    stage.cluster.advance(plan.caps.cooldown + 1)
    again = seal(replace(renamed, created=stage.created(), expires_at=stage.cluster.clock.now() + 60))
    assert stage.run(again).outcome is Outcome.ALREADY_HEALTHY
