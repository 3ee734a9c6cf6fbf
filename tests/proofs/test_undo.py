"""Proof: undo is exact. Apply and rollback leave the cluster as it was; what cannot be undone is named up front."""

# ruff: noqa: PT017 - whether it is refused, and what it then says, depends on the case
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kfix.core.errors import KfixError, RefusedError, RollbackFailedError, RolledBackError
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution.run import abort
from kfix.heal.journal.runs import RunDir
from kfix.heal.model.plan import Plan
from kfix.heal.plan.planfile import from_json, to_json
from kfix.heal.rollback import make_rollback
from kfix.heal.safety.outcomes import Outcome
from tests.proofs.calls import expected_call
from tests.proofs.killing import Killing, distinct
from tests.proofs.scenarios import SCENARIOS, Scenario
from tests.proofs.stage import Moment, Stage, too_often, world
from tests.proofs.test_steps import or_back

ORDERS = TopicPartition("orders", 0)

#: What the steps that changed something leave behind is nothing: all of it can be taken back.
REVERSIBLE = (
    "durable-defaults",
    "given moves",
    "min isr after the goal",
    "over others' throttles",
    "raise-offsets-rf",
    "raise-topic-rf",
    "spread-replicas",
    "sweep-throttles",
    "coordinator led from elsewhere",
)


def name_of(prefix: str) -> str:
    return next(name for name in SCENARIOS if name.startswith(prefix))


@pytest.mark.parametrize("name", REVERSIBLE)
def test_apply_and_rollback_leave_no_difference(name: str, home: Path) -> None:
    stage = Stage(SCENARIOS[name if name in SCENARIOS else name_of(name.partition(":")[0])], home)
    plan = stage.plan()
    before = world(stage.cluster)
    stage.run(plan)
    assert stage.calls
    number, first = len(stage.calls), stage.last_run
    undo, healed = stage.roll_back()
    taken_back = name != "coordinator led from elsewhere"  # that one puts the order back itself, after its proof
    assert healed.outcome is (Outcome.PROVED if taken_back else Outcome.ALREADY_HEALTHY)
    after = world(stage.cluster)
    assert (after.assignments, after.topics, after.brokers) == (before.assignments, before.topics, before.brokers)
    assert after.leading == before.leading
    assert not too_often(stage.calls[number:], undo)
    assert from_json(to_json(undo), "undo") == undo
    assert undo.undoes == first.id


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=str)
def test_what_is_not_undone_is_named_up_front(scenario: Scenario, home: Path) -> None:
    stage = Stage(scenario, home)
    plan = stage.plan()
    stage.run(plan)
    done = {r["step"] for r in stage.journal() if r["type"] == "step.intent"}
    final = [s for s in plan.steps if s.id in done and not s.reversible and not s.action.endswith(".restore")]
    number = len(stage.calls)
    for everything in (False, True):
        try:
            undo = make_rollback(stage.last_run, stage.cluster, stage.created(), everything=everything)
        except RefusedError as error:
            assert all(s.id in str(error) for s in final)
            assert any(
                words in str(error) for words in ("changed nothing", "no change of", "reverted all of its changes")
            )
            continue
        told = "\n".join(undo.warnings)
        for step in final:
            assert f"{step.id} will not be reverted" in told
            assert any(s.step == step.id for s in undo.skipped_at_plan)
        undone = {s.id.removeprefix("undo-") for s in undo.steps}
        assert undone.isdisjoint(s.id for s in final)
        kept = {s.step for s in undo.skipped_at_plan}
        by_itself = {s.id for s in plan.steps if s.action.endswith((".restore", ".remove")) and s.phase == "always"}
        back = {(s.action, s.args) for s in plan.steps if s.id in done & by_itself}
        by_itself |= {s.id for s in plan.steps if s.inverse and (s.inverse.action, s.inverse.args) in back}
        assert undone | kept == done - by_itself
    assert len(stage.calls) == number


def stopped_in_the_middle(home: Path, name: str) -> tuple[Stage, Plan]:
    """Interrupted while the canary is copied, which would take an hour."""
    stage = Stage(SCENARIOS[name], home)
    stage.cluster.copy_seconds = 3600.0
    plan = stage.plan(throttle="1KB/s")
    seen: list[str] = []

    def stop(record) -> None:
        seen.append(record["type"])
        if record["type"] == "progress":
            stage.listeners.pop()
            raise KeyboardInterrupt

    stage.listeners.append(stop)
    with pytest.raises(Exception, match="interrupted"):
        stage.run(plan)
    return stage, plan


@pytest.mark.parametrize("name", ["given moves", "raise-topic-rf", "spread-replicas"])
def test_a_rollback_in_the_middle_of_a_move_cancels_it_and_restores_the_order(name: str, home: Path) -> None:
    before = world(Stage(SCENARIOS[name], home.parent / "other").cluster)
    stage, _ = stopped_in_the_middle(home, name)
    moving = {tp for tp, a in stage.cluster.records.assignments.items() if a.adding}
    assert moving
    number = len(stage.calls)
    stage.roll_back(everything=False)
    calls = stage.calls[number:]
    assert {c.args[0] for c in calls if c.method == "reassign" and c.args[1] is None} == moving
    after = world(stage.cluster)
    assert (after.assignments, after.topics, after.brokers) == (before.assignments, before.topics, before.brokers)


def test_good_copies_are_kept_unless_everything_is_asked_for(orders: Stage) -> None:
    orders.run(orders.plan())
    number, grown = len(orders.calls), world(orders.cluster)
    with pytest.raises(RefusedError, match="finished, and its copies are in sync") as caught:
        orders.roll_back(everything=False)
    assert str(caught.value).count("finished, and its copies are in sync") == 6
    assert orders.calls[number:] == []
    assert world(orders.cluster) == grown


def test_a_rollback_can_be_killed_at_any_moment_too(tmp_path: Path) -> None:
    stage = Stage(SCENARIOS["durable-defaults"], tmp_path / "one" / "kfix")
    before = world(stage.cluster)
    stage.run(stage.plan())
    stage.cluster.advance(60)
    killing = Killing(stage, tmp_path / "moments")
    undo = make_rollback(stage.last_run, stage.cluster, stage.created(), everything=True)
    number = len(stage.calls)
    stage.run(undo, changer=killing.changer)
    for moment in distinct(killing.moments)[:-1]:
        other = stage.at(moment)
        other.resume()
        now = world(other.cluster)
        assert (now.topics, now.brokers) == (before.topics, before.brokers), moment.what
        assert not too_often(other.calls[number:], undo), moment.what


@pytest.mark.parametrize("name", ["given moves", "raise-topic-rf", "spread-replicas"])
def test_a_rollback_of_moves_in_flight_can_be_killed_at_any_moment(name: str, tmp_path: Path) -> None:
    """What the dead process had sent is read from the cluster: a cancelled move is not cancelled again."""
    before = world(Stage(SCENARIOS[name], tmp_path / "other" / "kfix").cluster)
    stage, _ = stopped_in_the_middle(tmp_path / "one" / "kfix", name)
    moving = {tp for tp, a in stage.cluster.records.assignments.items() if a.adding}
    killing = Killing(stage, tmp_path / "moments")
    undo = make_rollback(stage.last_run, stage.cluster, stage.created(), everything=False)
    number = len(stage.calls)
    stage.run(undo, changer=killing.changer)
    cancelled = [c.args[0] for c in stage.calls[number:] if c.method == "reassign" and c.args[1] is None]
    assert (len(cancelled), set(cancelled)) == (len(moving), moving)
    for moment in killing.moments[:-1]:
        other = stage.at(moment)
        other.resume()
        now = world(other.cluster)
        assert (now.assignments, now.topics, now.brokers) == (before.assignments, before.topics, before.brokers), (
            moment.what
        )
        assert not too_often(other.calls[number:], undo), moment.what


@pytest.mark.parametrize("name", ["given moves", "raise-topic-rf"])
def test_a_move_that_ends_while_its_rollback_is_dead_is_not_taken_for_a_cancelled_one(
    name: str, tmp_path: Path
) -> None:
    stage, _ = stopped_in_the_middle(tmp_path / "one" / "kfix", name)
    before = world(Stage(SCENARIOS[name], tmp_path / "other" / "kfix").cluster)
    moving = {tp for tp, a in stage.cluster.records.assignments.items() if a.adding}
    killing = Killing(stage, tmp_path / "moments")
    undo = make_rollback(stage.last_run, stage.cluster, stage.created(), everything=False)
    stage.run(undo, changer=killing.changer)
    first = next(m for m in killing.moments if " step.intent undo-" in m.what and moving_still(m, moving))
    other = stage.at(first)
    other.cluster.advance(2 * 3600.0)
    assert not any(a.adding for a in other.cluster.records.assignments.values())
    number = len(other.calls)
    with pytest.raises(KfixError, match="does not show whether the change was made, and it will not be sent again"):
        other.resume()
    assert [c for c in other.calls[number:] if c.method == "reassign"] == []
    abort(other.last_run, other.scene_of_run(), "the move has ended")
    _, healed = other.roll_back(first_run(other))
    assert healed.outcome is Outcome.PROVED
    now = world(other.cluster)
    assert (now.assignments, now.topics, now.brokers) == (before.assignments, before.topics, before.brokers)


def first_run(stage: Stage) -> RunDir:
    return next(run for run in stage.store.runs() if not run.plan().undoes)


def moving_still(moment: Moment, moving: set[TopicPartition]) -> bool:
    return all(moment.cluster.records.assignments[tp].adding for tp in moving)


def test_a_demand_that_was_lowered_is_raised_again_only_when_the_replicas_are_back(home: Path) -> None:
    """Otherwise the way back would stop every producer with acks=all."""
    stage = Stage(SCENARIOS["under-min-isr"], home)
    before = world(stage.cluster)
    stage.run(stage.plan())
    first = stage.last_run
    with pytest.raises(KfixError, match="at least 2 live replicas in sync"):
        stage.roll_back()
    for broker in (2, 3):
        stage.cluster.revive(broker)
    stage.cluster.advance(5)
    stage.roll_back(first)
    assert world(stage.cluster).topics == before.topics


# -- on_failure: rollback


def fails(stage: Stage, *, accepted: bool) -> None:
    """The second step of durable-defaults is swallowed: accepted, and nothing happens."""
    stage.cluster.faults.answer("alter_configs", ChangeResult(0, "NONE"), applied=True)
    stage.cluster.faults.answer("alter_configs", ChangeResult(0, "NONE"), applied=not accepted)


def test_a_step_that_fails_takes_everything_back_and_exits_with_7(home: Path) -> None:
    stage = Stage(SCENARIOS["durable-defaults"], home)
    before = world(stage.cluster)
    plan = or_back(stage.plan())
    fails(stage, accepted=True)
    with pytest.raises(RolledBackError, match="it was rolled back, and the rollback is proved") as caught:
        stage.run(plan)
    assert caught.value.exit_code == 7
    assert world(stage.cluster) == before
    runs = list(stage.store.runs())
    assert len(runs) == 2
    assert runs[-1].plan().undoes == runs[0].id or runs[0].plan().undoes == runs[1].id


WAYS_TO_FAIL: list[Callable[[Stage], None]] = [
    lambda stage: stage.cluster.faults.answer("alter_configs", ChangeResult(31, "CLUSTER_AUTHORIZATION_FAILED")),
    lambda stage: stage.cluster.faults.lose_answer("alter_configs", applied=False),
    lambda stage: stage.cluster.faults.answer("alter_configs", ChangeResult(0, "NONE")),
]


@pytest.mark.parametrize("how", WAYS_TO_FAIL, ids=["refused", "lost", "swallowed"])
def test_a_rollback_that_fails_is_reported_and_exits_with_8(home: Path, how: Callable[[Stage], None]) -> None:
    stage = Stage(SCENARIOS["durable-defaults"], home)
    before = world(stage.cluster)
    plan = or_back(stage.plan())
    fails(stage, accepted=True)
    how(stage)
    how(stage)
    with pytest.raises(RollbackFailedError, match="the rollback did not complete") as caught:
        stage.run(plan)
    assert caught.value.exit_code == 8
    assert world(stage.cluster) != before


def test_every_reversible_action_has_an_inverse() -> None:
    for scenario in ("given moves", "durable-defaults", "over others' throttles"):
        for step in Stage(SCENARIOS[scenario], Path("/nonexistent")).plan().steps:
            assert step.reversible == (step.inverse is not None)
            assert step.inverse is None or step.inverse.action in ACTIONS
            assert step.inverse is None or step.action in ACTIONS
            assert expected_call(step) is not None


@pytest.mark.parametrize("lost", [1, 2])
def test_a_change_whose_answer_was_lost_is_rolled_back(home: Path, lost: int) -> None:
    stage = Stage(SCENARIOS["durable-defaults"], home)
    before = world(stage.cluster)
    for _ in range(lost):
        stage.cluster.faults.lose_answer("alter_configs", applied=True)
    result = stage.run(stage.plan())
    assert result.outcome is Outcome.PROVED
    assert not [text for text in result.changed if "may or may not" in text]
    undo, _ = stage.roll_back()
    assert len(undo.steps) == 2
    assert world(stage.cluster) == before


def test_a_failing_step_reverts_an_earlier_one_whose_answer_was_lost(home: Path) -> None:
    stage = Stage(SCENARIOS["durable-defaults"], home)
    before = world(stage.cluster)
    stage.cluster.faults.lose_answer("alter_configs", applied=True)
    stage.cluster.faults.answer("alter_configs", ChangeResult(31, "CLUSTER_AUTHORIZATION_FAILED"))
    with pytest.raises(RolledBackError) as caught:
        stage.run(or_back(stage.plan()))
    assert caught.value.exit_code == 7
    assert world(stage.cluster) == before


def test_a_rollback_names_a_change_that_may_or_may_not_have_been_made(home: Path) -> None:
    stage = Stage(SCENARIOS["durable-defaults"], home)
    stage.cluster.faults.lose_answer("alter_configs", applied=False)
    with pytest.raises(KfixError):
        stage.run(stage.plan())
    with pytest.raises(RefusedError, match="whether the change was made is unknown: check "):
        stage.roll_back()
