"""Proof: a run that is interrupted while replicas are copied leaves them throttled, unless a person says otherwise.

What is true afterwards is what the ending says, and what resume, abort, rollback and history go on from.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kfix.core.errors import KfixError, RefusedError, StoppedError
from kfix.heal.execution.run import abort
from kfix.heal.journal.runs import summary
from kfix.heal.model.plan import Gate, Plan
from kfix.heal.policy import Policy
from kfix.heal.report.run import aborted
from kfix.heal.safety.door import Door
from kfix.heal.safety.outcomes import Outcome
from tests.proofs.killing import EVERYWHERE, Killing
from tests.proofs.later import once
from tests.proofs.scenarios import SCENARIOS
from tests.proofs.stage import Stage, too_often, world

OVER_OTHERS = SCENARIOS["over others' throttles"]
RATE = "follower.replication.throttled.rate"


@pytest.fixture
def stage(home: Path) -> Stage:
    return slow(Stage(OVER_OTHERS, home))


def slow(stage: Stage) -> Stage:
    """A copy takes longer than a person who thinks about it."""
    stage.cluster.copy_seconds = 60.0
    stage.person.reads = 0.8
    return stage


def throttles(stage: Stage) -> tuple[object, object]:
    found = world(stage.cluster)
    return found.topics, found.brokers


def moving(stage: Stage) -> list[str]:
    return sorted(str(tp) for tp in stage.cluster.reassignments())


def interrupt(_how: object = None) -> None:
    raise KeyboardInterrupt


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def stopped(stage: Stage, plan: Plan | None = None, act: Any = interrupt) -> StoppedError:
    """Interrupted at the first look at the copying."""
    once(stage, act, type="progress")
    with pytest.raises(StoppedError) as caught:
        stage.run(plan or stage.plan(throttle="1KB/s"))
    assert caught.value.exit_code == 6
    return caught.value


def end_of(stage: Stage) -> dict[str, Any]:
    return next(r for r in reversed(stage.journal()) if r["type"] == "run.end")


def chosen(stage: Stage) -> tuple[str, str]:
    found = next(r for r in stage.journal() if r["type"] == "interrupted")
    return found["choice"], found["why"]


# -- left throttled


@pytest.mark.parametrize("answer", ["", None, "y", "x"])
def test_enter_the_end_of_input_and_no_answer_leave_the_copies_throttled(stage: Stage, answer: str | None) -> None:
    stage.person.interrupted = answer
    said = str(stopped(stage))
    (tp, *_) = moving(stage)
    assert {b.configs[RATE] for b in stage.cluster.brokers.values() if RATE in b.configs} == {"1000"}
    assert f"Kafka is still copying replicas of {tp}" in said
    assert ", throttled:" in said
    assert f"kfix runbook resume {stage.last_run.id}" in said
    assert f"kfix runbook abort {stage.last_run.id} --reason TEXT" in said
    assert f"kfix runbook rollback {stage.last_run.id}" in said
    assert "NOT RESTORED" not in said
    assert end_of(stage)["left"]
    assert end_of(stage)["under_way"] == moving(stage)
    assert chosen(stage)[0] == "leave"
    notes = " ".join(summary(stage.last_run).notes)
    assert "still set when it ended: " in notes
    assert tp in notes


def test_no_question_is_asked_without_a_terminal(stage: Stage) -> None:
    stage.person.interactive = False
    once(stage, interrupt, type="progress")
    plan = stage.plan(throttle="1KB/s")
    with pytest.raises(StoppedError, match="throttled: kfix runbook resume"):
        stage.run(plan, given=stage.flags(plan))
    assert chosen(stage) == ("leave", "no terminal to ask at")


def test_no_question_is_asked_when_the_job_is_ended(stage: Stage) -> None:
    stage.person.interrupted = "u"
    stopped(stage, act=terminate)
    assert chosen(stage) == ("leave", "no terminal to ask at")
    assert moving(stage)


def test_a_second_ctrl_c_at_the_question_leaves_the_copies_throttled(stage: Stage) -> None:
    def again() -> None:
        if stage.person.asked[-1].startswith("[Enter]"):
            raise KeyboardInterrupt

    stage.person.then = again
    said = str(stopped(stage))
    assert ", throttled:" in said
    assert chosen(stage) == ("leave", "a second interrupt")
    assert moving(stage)


def test_left_throttled_it_is_resumed_waited_for_and_the_throttles_are_put_back(stage: Stage) -> None:
    before = throttles(stage)
    plan = stage.plan(throttle="1KB/s")
    stage.person.interrupted = ""
    stopped(stage, plan)
    assert stage.resume().outcome is Outcome.PROVED
    assert throttles(stage) == before
    assert not too_often(stage.calls, plan)


def test_left_throttled_it_is_aborted_and_only_what_is_true_is_reported(stage: Stage) -> None:
    before = throttles(stage)
    stage.person.interrupted = ""
    stopped(stage)
    ended = abort(stage.last_run, stage.scene_of_run(), "a test")
    assert throttles(stage) == before
    words = str(aborted(ended))
    assert not [text for text in ended.changed if "throttle" in text]
    assert [text for text in ended.put_back if "throttle" in text]
    assert moving(stage)
    assert f"Kafka is still copying replicas of {moving(stage)[0]}, without a throttle" in words
    assert f"to revert them:  kfix runbook rollback {stage.last_run.id}" in words
    assert "kfix runbook resume" not in words
    assert end_of(stage)["left"] == []


def test_left_throttled_it_is_rolled_back(stage: Stage) -> None:
    before = world(stage.cluster)
    stage.person.interrupted = ""
    stopped(stage)
    stage.roll_back()
    assert world(stage.cluster) == before


# -- cancelled


def test_cancelled_the_replicas_and_the_throttles_are_as_they_were(stage: Stage) -> None:
    before = world(stage.cluster)
    stage.person.interrupted = "c"
    said = str(stopped(stage))
    assert world(stage.cluster) == before
    assert "no changes remain; restored by the run itself: cancel the move of" in said
    assert "Kafka is still copying" not in said
    assert chosen(stage) == ("cancel", "answered")
    intents = [r["step"] for r in stage.journal() if r["type"] == "step.intent"]
    assert [name for name in intents if name.startswith("undo-")]
    assert end_of(stage)["changed"] == end_of(stage)["under_way"] == end_of(stage)["left"] == []
    ended = abort(stage.last_run, stage.scene_of_run(), "a test")
    assert ended.changed == ()
    with pytest.raises(KfixError, match="reverted all of its changes itself"):
        stage.roll_back()


def test_killed_between_a_cancel_and_the_order_of_the_replicas_the_order_is_reported_and_rolled_back(
    tmp_path: Path,
) -> None:
    """After the cancel the replicas are those of before, in another order: that stands, and is not lost."""
    stage = slow(Stage(SCENARIOS["replace-broker"], tmp_path / "kfix"))
    before = world(stage.cluster)
    stage.person.interrupted = "c"
    once(stage, interrupt, type="progress")
    killing = Killing(stage, tmp_path / "moments")
    with pytest.raises(StoppedError):
        stage.run(stage.plan(), changer=killing.changer)
    died = [m for m in killing.moments if m.cluster.records.assignments != stage.cluster.records.assignments]
    died = [
        m
        for m in died
        if any(r["type"] == "step.result" and r["step"].startswith("undo-") for r in stage.at(m).journal())
    ]
    assert len(died) > 2
    for moment in died:
        one = stage.at(moment)
        [text] = abort(one.last_run, one.scene_of_run(), "a test").changed
        assert "are in the order [" in text, moment.what
        two = stage.at(moment)
        two.roll_back()
        assert world(two.cluster) == before, moment.what


def test_a_policy_that_wants_more_for_a_cancel_does_not_let_it_be_chosen(stage: Stage) -> None:
    cluster, plan = stage.cluster, stage.plan(throttle="1KB/s")
    stage.person.interrupted = "c"
    once(stage, interrupt, type="progress")
    door = Door(cluster, Policy({"reassign.cancel": Gate.TYPED}), tuple, cluster.clock)
    with pytest.raises(StoppedError):
        stage.run(plan, door=door)
    assert chosen(stage) == ("leave", "no answer")
    assert moving(stage)
    assert "cancel the moves" not in "".join(stage.person.asked)


def test_cancelled_its_plan_is_as_old_as_any_other(stage: Stage) -> None:
    """Nothing of the run stands: to resume it is to begin, and no plan begins after it expired."""
    stage.person.interrupted = "c"
    said = stopped(stage)
    assert "cannot be reverted" not in said.hint
    stage.cluster.clock.at = stage.last_run.plan().expires_at + 1
    with pytest.raises(RefusedError, match="its plan has expired"):
        stage.resume()


def test_cancelled_it_is_resumed_from_the_beginning(stage: Stage) -> None:
    before = throttles(stage)
    stage.person.interrupted = "c"
    stopped(stage)
    assert stage.resume().outcome is Outcome.PROVED
    assert throttles(stage) == before


def test_a_cancel_that_is_not_safe_is_refused_and_the_copies_stay_throttled(stage: Stage) -> None:
    """None of the replicas from before the move is alive and in sync any more (KAFKA-14424)."""

    def only_new_copies() -> None:
        for tp, move in stage.cluster.reassignments().items():
            state = stage.cluster.records.states[tp]
            stage.cluster.records.states[tp] = state._replace(isr=move.adding, leader=move.adding[0])
        raise KeyboardInterrupt

    stage.person.interrupted = "c"
    said = str(stopped(stage, act=only_new_copies))
    assert "not cancelled: " in said
    assert "KAFKA-14424" in said
    assert ", throttled:" in said
    assert moving(stage)
    assert end_of(stage)["left"]
    assert ("reassign", None) not in {(c.method, c.args[-1]) for c in stage.calls}


def test_copies_that_arrive_while_a_person_thinks_are_not_left_throttled(stage: Stage) -> None:
    before = throttles(stage)
    stage.person.interrupted = "c"
    stage.person.then = lambda: stage.cluster.clock.sleep(60.0)
    said = str(stopped(stage))
    assert throttles(stage) == before
    assert "Kafka is still copying" not in said
    assert end_of(stage)["left"] == []


# -- let run


def test_unthrottled_copies_are_reported_as_such(stage: Stage) -> None:
    before = throttles(stage)
    stage.person.interrupted = "u"
    said = str(stopped(stage))
    assert throttles(stage) == before
    assert moving(stage)
    assert ", without a throttle: kfix runbook resume" in said
    assert "only removes the throttles" not in said
    assert [text for text in end_of(stage)["put_back"] if "throttle" in text]
    assert not [text for text in end_of(stage)["changed"] if "throttle" in text]
    stage.resume()
    assert throttles(stage) == before
    assert not moving(stage)


# -- at any moment


@pytest.mark.parametrize("way", ["", "c", "u"])
def test_interrupted_at_any_record_what_is_reported_is_true(tmp_path: Path, way: str) -> None:
    stage = Stage(OVER_OTHERS, tmp_path / "good")
    before = throttles(stage)
    stage.run(stage.plan(throttle="1KB/s"))
    count, seen = len(stage.journal()), Counter[str]()
    for number in range(2, count, 2 if EVERYWHERE else 11):
        one = slow(Stage(OVER_OTHERS, tmp_path / f"{number}"))
        one.person.interrupted = way

        def stop(record: Mapping[str, Any], number: int = number) -> None:
            if record["seq"] == number:
                raise KeyboardInterrupt

        one.listeners.append(stop)
        try:
            one.run(one.plan(throttle="1KB/s"))
        except KfixError as error:
            seen["on" if end_of(one)["left"] else "off"] += 1
            _holds(one, str(error), before, number)
    assert seen["off"]
    assert bool(seen["on"]) == (way == "")


def _holds(stage: Stage, said: str, before: object, number: int) -> None:
    end = end_of(stage)
    assert (throttles(stage) != before) == bool(end["left"]), number
    assert (end["under_way"] != []) == bool(moving(stage)), number
    assert (", throttled: " in said) == (bool(moving(stage)) and throttles(stage) != before), number
    assert (", without a throttle: " in said) == (bool(moving(stage)) and throttles(stage) == before), number
    if stage.calls:
        abort(stage.last_run, stage.scene_of_run(), "a test")
    assert throttles(stage) == before, number


def test_a_cancel_that_was_sent_when_the_run_died_is_looked_up_and_its_move_is_made_again(
    stage: Stage, tmp_path: Path
) -> None:
    before = throttles(stage)
    stage.person.interrupted = "c"
    killing = Killing(stage, tmp_path / "moments")
    once(stage, interrupt, type="progress")
    with pytest.raises(StoppedError):
        stage.run(stage.plan(throttle="1KB/s"), changer=killing.changer)
    died = [m for m in killing.moments if "step.intent undo-" in m.what or m.what.endswith(" None)")]
    assert len(died) == 2
    for moment in died:
        one = stage.at(moment)
        assert one.resume().outcome is Outcome.PROVED, moment.what
        assert (moving(one), throttles(one)) == ([], before), moment.what
        (name, *others) = {r["step"] for r in one.journal() if r["type"] == "step.intent" and "undo-" in r["step"]}
        assert not others
        cancelled = [r["changed"] for r in one.journal() if r["type"] == "step.result" and r["step"] == name]
        assert cancelled == ([True] if moment.what.startswith("call") else []), moment.what
