"""Throttles are put back exactly in every ending of a run, and what cannot be put back is told by name."""

# ruff: noqa: PT017 - whether it is refused, and what it then says, depends on the case
from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kfix.core.diagnosis.finding import Finding
from kfix.core.errors import ApprovalError, KfixError, StoppedError
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.execution.rethrottle import request_throttle
from kfix.heal.execution.run import abort
from kfix.heal.model.plan import Gate
from kfix.heal.plan.planfile import seal
from kfix.heal.policy import NO_POLICY, Policy
from kfix.heal.safety.door import Door
from kfix_diagnostics.engine import diagnose
from tests.proofs.killing import EVERYWHERE, Killing, distinct
from tests.proofs.later import EventfulClock, once
from tests.proofs.scenarios import SCENARIOS
from tests.proofs.stage import Stage, World, planned_calls, too_often, world
from tests.unit.diagnostics.cut_clusters import zone_isolated

OVER_OTHERS = SCENARIOS["over others' throttles"]


@pytest.fixture
def stage(home: Path) -> Stage:
    return Stage(OVER_OTHERS, home)


def throttles(stage: Stage) -> tuple[object, object]:
    found: World = world(stage.cluster)
    return found.topics, found.brokers


def left_in_journal(stage: Stage) -> object:
    return next(r for r in reversed(stage.journal()) if r["type"] == "run.end")["left"]


def test_ctrl_c_at_any_record(stage: Stage, tmp_path: Path) -> None:
    """It never ends with a throttle on, not even where the Ctrl-C comes while they are put back."""
    before = throttles(stage)
    plan = stage.plan()
    count = _records_of_a_good_run(stage, plan)
    for number in range(1, count) if EVERYWHERE else range(1, count, 3):
        one = Stage(OVER_OTHERS, tmp_path / f"{number}")
        again = one.plan()

        def stop(record: Mapping[str, Any], number: int = number) -> None:
            if record["seq"] == number:
                raise KeyboardInterrupt

        one.listeners.append(stop)
        try:
            one.run(again)
        except KfixError as error:
            assert error.exit_code in {4, 6}, number
        assert throttles(one) == before, number


def _records_of_a_good_run(stage: Stage, plan: Any) -> int:
    stage.run(plan)
    return len(stage.journal())


def declined_at_the_canary(stage: Stage) -> None:
    def no() -> None:
        stage.person.says = "y" if len(stage.person.asked) == 1 else "n"

    stage.person.then = no
    with pytest.raises((ApprovalError, StoppedError), match="not approved"):
        stage.run(stage.plan())
    assert [c.method for c in stage.calls].count("reassign") == 0


def the_time_is_up(stage: Stage) -> None:
    plan = stage.plan(throttle="1KB/s")
    plan = seal(replace(plan, caps=replace(plan.caps, max_duration=25.0)))
    with pytest.raises(StoppedError, match=r"limits\.max_duration"):
        stage.run(plan)
    assert "limit.hit" in [r["type"] for r in stage.journal()]


def a_broker_dies_for_good(stage: Stage) -> None:
    """An invariant that pauses, and never holds again; the broker that is dead keeps its throttle, and that is told."""
    clock = EventfulClock(stage.cluster.clock)
    clock.after(20, lambda: stage.cluster.kill(2))
    with pytest.raises(StoppedError, match="has not held for 600 s") as caught:
        stage.run(stage.plan(throttle="1KB/s"), clock=clock)
    assert "NOT RESTORED" in str(caught.value)
    left = str(caught.value).partition("NOT RESTORED")[2].partition("changed before that")[0]
    assert "throttles of broker 2" in left
    assert "throttles of broker 1" not in left
    stage.cluster.revive(2)
    stage.cluster.advance(1)
    abort(stage.last_run, stage.scene_of_run(), "the broker came back")


def a_throttle_is_refused(stage: Stage) -> None:
    plan = stage.plan()
    stage.cluster.faults.answer("alter_configs", ChangeResult(0, "NONE"), applied=True)
    stage.cluster.faults.answer("alter_configs", ChangeResult(31, "CLUSTER_AUTHORIZATION_FAILED"))
    with pytest.raises(KfixError):
        stage.run(plan)


def every_move_is_refused(stage: Stage) -> None:
    plan = stage.plan()
    for _ in range(20):
        stage.cluster.faults.answer("reassign", ChangeResult(31, "CLUSTER_AUTHORIZATION_FAILED"))
    with pytest.raises(KfixError):
        stage.run(plan)


def nothing_can_be_read_for_a_while(stage: Stage) -> None:
    gone = stage.cluster.faults.unreadable

    def vanish() -> None:
        gone["reassignments"] = "no answer"

    once(stage, vanish, type="progress")
    clock = EventfulClock(stage.cluster.clock)
    clock.after(30, gone.clear)
    with pytest.raises(KfixError) as caught:
        stage.run(stage.plan(within="5s"), clock=clock)
    gone.clear()
    if "NOT RESTORED" in str(caught.value):
        abort(stage.last_run, stage.scene_of_run(), "readable again")


ENDINGS = [
    declined_at_the_canary,
    the_time_is_up,
    a_broker_dies_for_good,
    a_throttle_is_refused,
    every_move_is_refused,
    nothing_can_be_read_for_a_while,
]


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda e: e.__name__)
def test_the_throttles_are_as_they_were(stage: Stage, ending: Callable[[Stage], None]) -> None:
    before = throttles(stage)
    ending(stage)
    assert throttles(stage) == before
    assert left_in_journal(stage) == []


def test_a_lost_lock_ends_the_run_and_what_is_left_is_reported(tmp_path: Path) -> None:
    """Somebody else may act: nothing more is sent, not even to put a throttle back. That is told by name."""
    looks = 0
    for number in range(0, 60, 1 if EVERYWHERE else 4):
        stage = Stage(OVER_OTHERS, tmp_path / f"{number}")
        plan = stage.plan()
        before = throttles(stage)
        stage.cluster.lock.lose(after_calls=number)
        try:
            stage.run(plan)
        except KfixError as error:
            assert "the lock was lost" in str(error), number
            assert error.exit_code == (6 if stage.calls else 3), number
            lost = next(r["seq"] for r in stage.journal() if r["type"] == "lock.lost")
            assert not [r for r in stage.journal() if r["type"] == "step.intent" and r["seq"] > lost]
            if throttles(stage) != before:
                assert "NOT RESTORED" in str(error), number
                looks += 1
            stage.cluster.lock._left = None
            if stage.calls:
                abort(stage.last_run, stage.scene_of_run(), "a test")
        assert throttles(stage) == before, number
    assert looks


# -- another rate, asked for in mid-run


def wishing(stage: Stage, plan: Any, rate: str) -> None:
    once(stage, lambda: request_throttle(stage.last_run.path, plan, rate, "anna"), type="progress")


def test_a_wish_for_another_throttle_is_taken_up_and_the_original_restored(stage: Stage) -> None:
    before = throttles(stage)
    plan = stage.plan(throttle="1KB/s")
    rates: set[object] = set()
    wishing(stage, plan, "7MB/s")
    once(
        stage,
        lambda: rates.update(b.configs["follower.replication.throttled.rate"] for b in stage.cluster.brokers.values()),
        type="throttle.result",
        step="throttle-brokers:3",
    )
    stage.run(plan)
    assert rates == {"7000000"}
    assert throttles(stage) == before
    taken = [r for r in stage.journal() if r["type"] == "throttle.intent"]
    assert {r["args"]["rate"] for r in taken} == {7_000_000}
    assert {r["by"] for r in taken} == {"anna"}
    assert not (stage.last_run.path / "throttle.request.json").exists()


@pytest.mark.parametrize("why", ["policy", "network"])
def test_a_wish_for_another_throttle_comes_through_the_same_door(stage: Stage, why: str) -> None:
    before = throttles(stage)
    plan = stage.plan(throttle="1KB/s")
    cut: list[Finding] = []
    policy = Policy({"throttle.rate": Gate.STEP}) if why == "policy" else NO_POLICY
    door = Door(stage.cluster, policy, lambda: cut, stage.cluster.clock)
    if why == "network":
        once(stage, lambda: cut.extend(diagnose(zone_isolated()).findings), type="progress")
        # As if the last diagnosis were an old one.
        once(stage, lambda: setattr(door, "_at", float("-inf")), type="progress")
    else:
        plan = policy.raised(plan)
    wishing(stage, plan, "7MB/s")
    with contextlib.suppress(KfixError):
        stage.run(plan, door=door)
    assert "throttle.intent" not in {r["type"] for r in stage.journal()}
    assert [r for r in stage.journal() if r["type"] == "note" and "ignored" in r["text"]]
    assert throttles(stage) == before


def test_killed_anywhere_in_a_run_with_a_wish(stage: Stage, tmp_path: Path) -> None:
    before = throttles(stage)
    plan = stage.plan(throttle="1KB/s")
    wishing(stage, plan, "7MB/s")
    killing = Killing(stage, tmp_path / "moments")
    stage.run(plan, changer=killing.changer)
    after = world(stage.cluster)
    wished = [m for m in killing.moments if "throttle." in m.what or "moved_on" in m.what or m.what.startswith("call")]
    for moment in [*distinct(killing.moments)[:-1:3], *wished]:
        one = stage.at(moment)
        one.resume()
        assert world(one.cluster) == after, moment.what
        extra = too_often(one.calls, plan)
        assert all(c.method == "alter_configs" and "7000000" in str(c.args) for c in extra), moment.what
        assert max((Counter(one.calls) - planned_calls(plan)).values(), default=1) == 1, moment.what
        one = stage.at(moment)
        abort(one.last_run, one.scene_of_run(), "a test")
        assert throttles(one) == before, moment.what
