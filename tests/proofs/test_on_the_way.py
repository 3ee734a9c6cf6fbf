"""What a run does on its way: batches and a canary, pauses, invariants, limits, locks, other people's changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kfix.core.errors import KfixError, NotProvedError, RefusedError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.model.plan import Gate
from kfix.heal.model.runbook import Limits
from kfix.heal.plan.planfile import seal
from kfix.heal.safety.outcomes import Outcome
from tests.proofs.later import EventfulClock, once
from tests.proofs.scenarios import SCENARIOS
from tests.proofs.stage import Stage, world
from tests.shipped import changed

LAST = TopicPartition("orders", 5)


def moves(stage: Stage) -> list[int]:
    return [
        c.args[0].partition for c in stage.calls if c.method == "reassign" and isinstance(c.args[0], TopicPartition)
    ]


def events(stage: Stage, *types: str) -> list[tuple[str, str]]:
    return [(r["type"], r["step"]) for r in stage.journal() if r["type"] in types and "grow" in r.get("step", "")]


# -- batches


@pytest.mark.parametrize(("batch", "sizes"), [(5, [1, 5]), (2, [1, 2, 2, 1]), (1, [1, 1, 1, 1, 1, 1]), (25, [1, 5])])
def test_a_canary_goes_alone_and_each_batch_is_issued_whole_then_waited_for(
    orders: Stage, batch: int, sizes: list[int]
) -> None:
    plan = orders.plan(batch=batch)
    grow = [s for s in plan.steps if s.action == "reassign.move"]
    assert [s.gate for s in grow] == [Gate.STEP, *[Gate.PLAN] * 5]
    orders.run(plan)
    told = events(orders, "step.result", "step.verified")
    for size in sizes:
        now, told = told[: 2 * size], told[2 * size :]
        assert [kind for kind, _ in now] == ["step.result"] * size + ["step.verified"] * size
        assert {step for _, step in now[:size]} == {step for _, step in now[size:]}
    assert told == []
    assert moves(orders) == sorted(moves(orders))
    asked = [r["step"] for r in orders.journal() if r["type"] == "gate.asked"]
    assert asked == ["throttle-brokers:1", grow[0].id]


def test_between_batches_a_pause_passes(orders: Stage) -> None:
    plan = orders.plan(batch=2)
    slow = seal(
        replace(plan, steps=tuple(replace(s, pause=100.0 if s.action == "reassign.move" else 0.0) for s in plan.steps))
    )
    orders.run(slow)
    at = [r["mono"] for r in orders.journal() if r["type"] == "step.intent" and r["step"].startswith("grow")]
    gaps = [later - sooner for sooner, later in pairwise(at)]
    assert [gap >= 100 for gap in gaps] == [True, False, True, False, True]


# -- invariants


def test_a_broken_invariant_pauses_the_run_until_it_holds_again(orders: Stage) -> None:
    clock = EventfulClock(orders.cluster.clock)
    clock.after(9, lambda: orders.cluster.kill(3))
    clock.after(200, lambda: orders.cluster.revive(3))
    orders.run(orders.plan(batch=1, throttle="1KB/s"), clock=clock)
    kinds = [r["type"] for r in orders.journal()]
    assert kinds.count("pause") == kinds.count("resume") == 1
    paused = kinds.index("pause"), kinds.index("resume")
    assert "step.intent" not in kinds[paused[0] : paused[1]]
    assert "step.intent" in kinds[paused[1] :]


# -- limits


@pytest.mark.parametrize(
    ("scenario", "caps", "says"),
    [
        ("raise-topic-rf", {"max_partitions": 5}, "6 partitions; the limit is 5"),
        ("raise-topic-rf", {"max_brokers": 2}, "3 brokers to add replicas to; the limit is 2"),
        ("raise-topic-rf", {"max_bytes_moved": 59_999}, "60 kB to copy; the limit is 60 kB"),
        ("raise-topic-rf", {"max_concurrent_moves": 4}, "5 moves at once; the limit is 4"),
        ("unclean-election", {"max_unclean": 0}, "1 unclean election; the limit is 0"),
    ],
)
def test_a_plan_above_a_limit_is_refused_never_cut(scenario: str, caps: dict[str, Any], says: str, home: Path) -> None:
    stage = Stage(SCENARIOS[scenario], home)
    stage.runbook = changed(stage.runbook, limits=changed(stage.runbook.limits, **caps))
    with pytest.raises(RefusedError, match=says):
        stage.plan()
    wide = {
        "max_partitions": 6,
        "max_brokers": 3,
        "max_bytes_moved": "60KB",
        "max_concurrent_moves": 5,
        "max_unclean": 1,
    }
    stage.runbook = changed(stage.runbook, limits=Limits.model_validate({"cooldown": "1s", **wide}))
    assert stage.plan()


# -- locks


def test_without_a_lock_of_the_cluster_every_change_asks_and_a_note_states_it(home: Path) -> None:
    free, held = Stage(SCENARIOS["leader-balance"], home), Stage(SCENARIOS["leader-balance"], home.parent / "held")
    free.run(free.plan())
    held.cluster.lock.missing = "no ZooKeeper is told"
    plan = held.plan()
    held.run(plan)
    assert free.calls == held.calls
    assert len([s for s in plan.steps if s.gate is Gate.PLAN]) > 1
    assert len(free.person.asked) == 2, "the plan, and the canary"
    assert len(held.person.asked) == len(held.calls) > 2
    note = next(r["text"] for r in held.journal() if r["type"] == "note")
    assert "no ZooKeeper is told" in note
    assert [r["exclusive"] for r in held.journal() if r["type"] == "lock.taken"] == [False]


# -- other people


def test_a_move_that_another_operator_begins_is_left_alone(orders: Stage) -> None:
    """The others go on; the one that is somebody's is left, told by name, and goes its own way."""

    def theirs() -> None:
        orders.cluster.copy_seconds = 36_000
        orders.cluster.moves.reassign(LAST, (3, 2))

    once(orders, theirs, type="step.verified", step="grow:orders-0")
    with pytest.raises(KfixError) as caught:
        orders.run(orders.plan(batch=1, throttle="50MB/s", prove_within="20s"))
    assert caught.value.exit_code == 5
    assert "orders-5" in str(caught.value)
    assert moves(orders) == [0, 1, 2, 3, 4]
    now = orders.cluster.records.assignments[LAST]
    assert tuple(b for b in now.replicas if b not in now.removing) == (3, 2)


def test_an_assignment_that_another_operator_changed_is_not_changed_again(orders: Stage) -> None:
    once(
        orders,
        lambda: orders.cluster.moves.reassign(LAST, (1, 3)),
        type="step.verified",
        step="grow:orders-0",
    )
    with pytest.raises(NotProvedError, match="orders-5"):
        orders.run(orders.plan(batch=2, prove_within="20s"))
    assert 5 not in moves(orders)
    assert orders.cluster.records.assignments[LAST].replicas == (1, 3)


# -- a destination that dies


def test_a_dead_destination_is_given_up_and_the_others_go_on_then_resumed(home: Path) -> None:
    stage = Stage(SCENARIOS["given moves"], home)
    clock = EventfulClock(stage.cluster.clock)
    once(stage, lambda: clock.after(1, lambda: stage.cluster.kill(4)), type="step.result", step="move:orders-0")
    plan = stage.plan(throttle="1KB/s", prove_within="5s")
    with pytest.raises(KfixError) as caught:
        stage.run(plan, clock=clock)
    assert "broker 4" in str(caught.value) or "[4]" in str(caught.value)
    assert caught.value.exit_code in {5, 6}
    given_up = [r for r in stage.journal() if r["type"] == "step.not_verified"]
    assert {r["step"] for r in given_up} <= {"move:orders-0", "move:orders-2"}, "those with broker 4"
    assert (given_up[0]["step"], given_up[0]["verdict"]) == ("move:orders-0", "fail")
    assert stage.cluster.records.assignments[TopicPartition("orders", 1)].replicas == (2, 3)

    stage.cluster.revive(4)
    stage.cluster.advance(30)
    healed = stage.resume()
    assert healed.outcome is Outcome.PROVED
    assert stage.cluster.records.assignments[TopicPartition("orders", 0)].replicas == (3, 4)
    assert len(moves(stage)) == len(set(moves(stage)))
    assert not any(world(stage.cluster).brokers.values())


def hook(stage: Stage, act: Callable[[], object]) -> None:
    once(stage, act, type="step.verified", step="grow:orders-0")


def test_a_goal_that_is_met_early_skips_the_rest(orders: Stage) -> None:
    """Somebody else did all of it meanwhile."""

    def theirs() -> None:
        for tp, found in list(orders.cluster.records.assignments.items()):
            if tp.topic == "orders" and len(found.replicas) < 3:
                more = tuple(sorted(orders.cluster.control.live - set(found.replicas)))
                orders.cluster.moves.reassign(tp, (*found.replicas, *more))
        orders.cluster.advance(10)
        orders.cluster.advance(10)

    hook(orders, theirs)
    healed = orders.run(orders.plan(throttle="50MB/s"))
    assert healed.outcome is Outcome.PROVED
    assert moves(orders) == [0]
    skipped = [r["why"] for r in orders.journal() if r["type"] == "step.skipped"]
    assert skipped == ["goal_met"] * 5
    assert not any(world(orders.cluster).brokers.values())
