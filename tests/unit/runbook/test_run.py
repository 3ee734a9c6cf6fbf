"""A run: refusals, gates, the ladder, the proof, and what every ending leaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.adapters.memory_state import Phase
from kfix.errors import (
    ApprovalError,
    HeldError,
    NotProvedError,
    RefusedError,
    StoppedError,
    UsageError,
)
from kfix.model.plan import Gate
from kfix.model.reading import ChangeResult
from kfix.model.snapshot import Assignment, TopicPartition
from kfix.runbook.codec import to_plain
from kfix.runbook.explain import explain
from kfix.runbook.gates import Given
from kfix.runbook.journal import read_back
from kfix.runbook.lock import cluster_lock
from kfix.runbook.run import prove_again
from kfix.runbook.stops import Outcome
from tests.unit.runbook.stage import Answers, Stage, leave_stuck, reseal

TP = TopicPartition("__consumer_offsets", 26)
Stages = Callable[[str], Stage]


# -- the good way


def test_the_founding_incident_is_healed_by_one_no_op_reassignment_and_proved(stage: Stage) -> None:
    healed = stage.run()
    assert healed.outcome is Outcome.PROVED
    assert stage.methods() == ["reassign"]
    assert healed.proof.in_row == 3
    assert healed.seconds < 2


def test_a_live_preferred_replica_is_elected_and_nothing_else_is_touched(stages: Stages) -> None:
    stage = stages("stuck-preferred-alive")
    stage.run()
    assert [c.args for c in stage.cluster.faults.calls] == [(TP, False)]


def test_five_stuck_partitions_are_healed_by_one_answer(stages: Stages) -> None:
    stage = stages("five-stuck-partitions")
    stage.run()
    assert stage.methods() == ["reassign"] * 5
    assert len(stage.human.asked) == 1


def test_the_latent_divergence_is_mended_and_the_isr_is_full_again(stages: Stages) -> None:
    stage = stages("latent-divergence")
    stage.run()
    state = stage.cluster.records.states[TP]
    assert (state.leader, set(state.isr)) == (1, {1, 2, 3})
    assert stage.methods() == ["reassign"]


def test_what_ran_is_what_was_approved_byte_for_byte(stages: Stages) -> None:
    for incident in ("stuck-offsets-partition", "five-stuck-partitions", "latent-divergence"):
        stage = stages(incident)
        plan = stage.plan()
        stage.run(plan)
        planned = {s.id: json.dumps(to_plain(s.args)) for s in plan.steps}
        ran = {r["step"]: json.dumps(r["args"]) for r in stage.journal() if r["type"] == "step.intent"}
        assert ran
        assert ran == {step: planned[step] for step in ran}


def test_explain_and_apply_visit_the_same_steps(stage: Stage) -> None:
    plan = stage.plan()
    stage.run(plan)
    visited = dict.fromkeys(r["step"] for r in stage.journal() if r["type"] in ("step.intent", "step.skipped"))
    assert list(visited) == [step.id for _, step in explain(plan)]


# -- the ladder


def test_a_rung_that_does_not_take_gives_way_to_the_next(stage: Stage) -> None:
    leave_stuck(stage, "reassign")
    stage.run()
    assert stage.methods() == ["reassign", "elect"]
    assert stage.cluster.faults.calls[1].args == (TP, True)
    assert stage.types().count("step.unproved") == 1


def test_the_last_rung_is_the_fenced_re_election_of_the_controller(stage: Stage) -> None:
    leave_stuck(stage, "reassign")
    stage.cluster.faults.answer("elect", ChangeResult(84, "ELECTION_NOT_NEEDED"))
    healed = stage.run()
    assert stage.methods() == ["reassign", "elect", "reelect_controller"]
    assert stage.cluster.faults.calls[2].args == (2,)
    assert healed.outcome is Outcome.PROVED


def test_a_goal_that_is_met_before_the_first_step_changes_nothing(stage: Stage) -> None:
    plan = stage.plan()
    stage.cluster.reassign(TP, (3, 1, 2))
    stage.cluster.faults.calls.clear()
    healed = stage.run(plan)
    assert healed.outcome is Outcome.ALREADY_WELL
    assert stage.methods() == []


def test_a_cluster_that_heals_while_the_human_thinks_is_left_alone(stage: Stage) -> None:
    stage.human.then = lambda: stage.cluster.control.fail_over_to(3)
    assert stage.run().changed == ()
    assert stage.methods() == []


def test_a_coordinator_that_still_loads_is_waited_for_and_no_controller_is_touched(stage: Stage) -> None:
    stage.cluster.loading[26] = 40
    stage.run()
    assert stage.methods() == ["reassign"]


def test_the_isr_is_read_again_before_the_election_named_unclean(stage: Stage) -> None:
    """The last in-sync replica dies while the human thinks: the election must not happen."""
    leave_stuck(stage, "reassign")

    def later() -> None:
        if stage.methods():
            stage.cluster.kill(2)

    stage.human.then = later
    with pytest.raises(StoppedError):
        stage.run()
    assert stage.methods() == ["reassign"]


# -- gates


@pytest.mark.parametrize("answers", [["n"], ["no"], [], ["", "what", "n"]])
def test_no_and_end_of_input_mean_no(stage: Stage, answers: list[str]) -> None:
    stage.human = Answers(answers)
    with pytest.raises(ApprovalError, match="nothing was changed"):
        stage.run()
    assert stage.methods() == []


def test_a_declined_plan_is_not_spent(stage: Stage) -> None:
    plan = stage.plan()
    stage.human = Answers(["n"])
    with pytest.raises(ApprovalError):
        stage.run(plan)
    stage.human = Answers(["y"])
    assert stage.run(plan).outcome is Outcome.PROVED


def test_a_step_declined_after_a_change_is_a_stop_half_way(stage: Stage) -> None:
    leave_stuck(stage, "reassign")
    stage.human = Answers(["y", "n"])
    with pytest.raises(StoppedError, match="changed before that: nudge") as caught:
        stage.run()
    assert caught.value.exit_code == 6


def test_details_and_why_are_shown_and_are_no_answer(stage: Stage) -> None:
    stage.human = Answers(["d", "?", "y"])
    stage.run()
    assert "by hand" in stage.human.shown[1]
    assert "covers every step of the level 'plan'" in stage.human.shown[2]


def test_without_a_terminal_nothing_is_changed_and_what_to_pass_is_told(stage: Stage) -> None:
    plan = stage.plan()
    stage.human = Answers(interactive=False)
    with pytest.raises(ApprovalError) as caught:
        stage.run(plan)
    assert caught.value.exit_code == 4
    assert caught.value.hint == (f"kfix runbook apply --plan {stage.last_run.plan_path} --approve plan:{plan.short_id}")
    assert stage.methods() == []


def test_a_flag_for_the_plan_covers_the_plan_and_no_more(stage: Stage) -> None:
    plan = stage.plan()
    stage.human = Answers(interactive=False)
    leave_stuck(stage, "reassign")
    with pytest.raises(StoppedError, match="elect-isr was not approved") as caught:
        stage.run(plan, approve=[f"plan:{plan.short_id}"])
    assert "--approve step:<its id>" in caught.value.hint


def test_a_flag_for_the_steps_covers_them(stage: Stage) -> None:
    plan = stage.plan()
    stage.human = Answers(interactive=False)
    leave_stuck(stage, "reassign")
    stage.run(plan, approve=[f"step:{plan.short_id}"])
    assert stage.methods() == ["reassign", "elect"]


@pytest.mark.parametrize("flag", ["plan:00000000", "yes", "plan:", "typed:1a2b3c4d", "step:XYZ"])
def test_a_flag_that_names_no_or_another_plan_is_refused(stage: Stage, flag: str) -> None:
    with pytest.raises(UsageError, match="--approve"):
        stage.run(approve=[flag])
    assert stage.methods() == []


def _typed(stage: Stage) -> None:
    nudge = stage.runbook.steps[1]
    stage.runbook = replace(stage.runbook, steps=(replace(nudge, gate=Gate.TYPED),))


PHRASE = "memory-cluster/__consumer_offsets-26/replicas 3,1,2"


def test_a_typed_step_takes_the_phrase_and_nothing_else(stage: Stage) -> None:
    _typed(stage)
    stage.human = Answers(["y", "d", PHRASE])
    assert stage.run().outcome is Outcome.PROVED
    answered = next(r for r in stage.journal() if r["type"] == "gate.answered")
    assert (answered["answer"], answered["phrase_ok"]) == ("phrase", True)


@pytest.mark.parametrize("answers", [["y", "y", "y"], [PHRASE + "x"] * 3, ["n"], []])
def test_a_wrong_phrase_changes_nothing(stage: Stage, answers: list[str]) -> None:
    _typed(stage)
    stage.human = Answers(answers)
    with pytest.raises(ApprovalError):
        stage.run()
    assert stage.methods() == []


def test_no_wholesale_approval_covers_a_typed_step(stage: Stage) -> None:
    _typed(stage)
    plan = stage.plan()
    stage.human = Answers(interactive=False)
    with pytest.raises(ApprovalError) as caught:
        stage.run(plan, approve=[f"step:{plan.short_id}"])
    assert f"--ack 'nudge={PHRASE}'" in caught.value.hint
    stage.run(plan, acks=[f"nudge={PHRASE}"])
    assert stage.methods() == ["reassign"]


def test_an_ack_for_a_step_that_is_not_typed_is_refused(stage: Stage) -> None:
    with pytest.raises(UsageError, match="--ack"):
        stage.run(acks=["nudge=x"])


def test_what_the_human_saw_is_kept_by_hash_and_text(stage: Stage) -> None:
    import hashlib

    stage.run()
    asked = next(r for r in stage.journal() if r["type"] == "gate.asked")
    text = (stage.last_run.path / "gate-1.txt").read_text()
    assert hashlib.sha256(text.encode()).hexdigest() == asked["shown_sha256"]
    assert text == stage.human.shown[0]


# -- stale: each kind of fact, changed between plan and apply


def _state(stage: Stage, **changes: object) -> None:
    state = stage.cluster.records.states[TP]
    stage.cluster.records.states[TP] = state._replace(**changes)  # type: ignore[arg-type]


FACTS: dict[str, Callable[[Stage], None]] = {
    f"{TP}.leader": lambda s: _state(s, leader=1),
    f"{TP}.leader_epoch": lambda s: _state(s, leader_epoch=9),
    f"{TP}.isr": lambda s: _state(s, isr=(2, 1)),
    f"{TP}.live_isr": lambda s: _state(s, isr=(2, 3)),
    f"{TP}.assignment": lambda s: s.cluster.records.assignments.update({TP: Assignment((1, 2, 3))}),
    f"{TP}.live_replicas": lambda s: s.cluster.brokers[1].__setattr__("alive", True),
    "cluster.controller": lambda s: s.cluster.records.__setattr__("controller", 3),
    "cluster.controller_epoch": lambda s: s.cluster.records.__setattr__("epoch", 77),
    "cluster.controller_epoch_version": lambda s: s.cluster.records.__setattr__("epoch_version", 77),
    "cluster.migrating": lambda s: s.cluster.records.__setattr__("migrating", True),
}


@pytest.mark.parametrize("key", FACTS)
def test_a_fact_that_changed_between_plan_and_apply_is_named_and_stops_the_run(stage: Stage, key: str) -> None:
    plan = stage.plan()
    FACTS[key](stage)
    with pytest.raises(RefusedError) as caught:
        stage.run(plan)
    assert caught.value.exit_code == 3
    assert key in str(caught.value)
    assert "was" in str(caught.value)
    assert stage.methods() == []


def test_a_reassignment_that_began_between_plan_and_apply_stops_the_run(stage: Stage) -> None:
    plan = stage.plan()
    stage.cluster.records.assignments[TP] = Assignment((3, 1, 2), adding=(4,))
    with pytest.raises(RefusedError, match="no_reassignment"):
        stage.run(plan)


def test_every_fact_a_plan_can_rest_on_has_a_test_of_its_change(stage: Stage) -> None:
    assert {f.key for f in stage.plan().facts} - FACTS.keys() == {f"{TP}.reassigning"}


@pytest.mark.parametrize("key", [f"{TP}.assignment", f"{TP}.leader_epoch"])
def test_a_fact_that_changes_while_the_human_thinks_stops_the_step(stage: Stage, key: str) -> None:
    stage.human.then = lambda: FACTS[key](stage)
    with pytest.raises(RefusedError, match="the world changed"):
        stage.run()
    assert stage.methods() == []


def test_facts_that_cannot_be_read_again_are_not_taken_for_unchanged(stage: Stage) -> None:
    stage.human.then = lambda: stage.cluster.faults.unreadable.update(zookeeper="gone")
    with pytest.raises(RefusedError):
        stage.run()
    assert stage.methods() == []


def test_a_slow_disk_makes_the_facts_be_read_again_after_the_intent(stage: Stage) -> None:
    """More than a second between the look and the call, and the world changes in it: nothing is issued."""

    def slow(record: dict) -> None:
        if record["type"] == "step.intent":
            stage.cluster.clock.sleep(2)
            FACTS[f"{TP}.assignment"](stage)

    with pytest.raises(RefusedError, match="the world changed"):
        stage.run(listener=slow)
    assert stage.methods() == []
    result = next(r for r in stage.journal() if r["type"] == "step.result")
    assert (result["error"], result["changed"]) == ("not issued", False)


# -- plans that must not run


def test_an_expired_plan_is_refused(stage: Stage) -> None:
    plan = stage.plan()
    stage.cluster.clock.sleep(30 * 60 + 1)
    with pytest.raises(RefusedError, match="expired at 20"):
        stage.run(plan)


def test_a_plan_of_another_cluster_is_refused(stage: Stage) -> None:
    plan = stage.plan()
    stage.cluster.cluster_id = "prod-us"
    with pytest.raises(RefusedError, match="is for cluster memory-cluster, this is prod-us"):
        stage.run(plan)


def test_a_plan_of_another_kfix_is_refused(stage: Stage) -> None:
    plan = stage.plan()
    with pytest.raises(RefusedError, match=r"was made by kfix 9\.9, this is"):
        stage.run(reseal(plan, created=replace(plan.created, kfix="9.9")))


def test_a_plan_runs_once(stage: Stage) -> None:
    plan = stage.plan()
    healed = stage.run(plan)
    with pytest.raises(RefusedError, match=f"already run as {healed.run}") as caught:
        stage.run(plan)
    assert "verify" in caught.value.hint


def test_a_run_whose_journal_is_damaged_counts_as_run(stage: Stage) -> None:
    plan = stage.plan()
    stage.human = Answers(["n"])
    with pytest.raises(ApprovalError):
        stage.run(plan)
    path = stage.last_run.journal_path
    path.write_bytes(path.read_bytes().replace(b"lock.taken", b"lock.token"))
    with pytest.raises(RefusedError, match="already run"):
        stage.run(plan)


def test_two_runs_for_one_finding_wait_for_the_cooldown(stage: Stage, tmp_path: Path) -> None:
    healed = stage.run()
    again = Stage("stuck-offsets-partition", tmp_path)
    again.cluster.clock.slept = stage.cluster.clock.slept + 10
    with pytest.raises(HeldError, match=f"acted on .* as {healed.run}") as caught:
        again.run()
    assert caught.value.exit_code == 9
    again.cluster.clock.slept += 60
    assert again.run().outcome is Outcome.PROVED


def test_a_held_cluster_names_who_since_when_and_which_plan(stage: Stage) -> None:
    holder = {"user": "anna", "host": "ops1", "pid": "7", "plan": "aaaaaaaa", "run": "r", "since": "12:00"}
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with cluster_lock(stage.store.locks_dir, "memory-cluster", holder):
            taken.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(10)
    try:
        with pytest.raises(HeldError, match=r"held by anna \(process 7 on ops1\) since 12:00: run r, plan aaaaaaaa"):
            stage.run()
    finally:
        done.set()
        thread.join()
    assert stage.run().outcome is Outcome.PROVED


# -- answers that are lost


@pytest.mark.parametrize("applied", [True, False])
def test_a_lost_answer_is_looked_after_and_never_asked_again(stage: Stage, applied: bool) -> None:
    stage.cluster.faults.lose_answer("reassign", applied=applied)
    healed = stage.run()
    assert stage.methods() == (["reassign"] if applied else ["reassign", "elect"])
    probe = next(r for r in stage.journal() if r["type"] == "step.probe")
    assert probe["progress"] == ("done" if applied else "not_started")
    assert "may or may not" in healed.changed[0]


def test_a_lost_answer_and_a_blind_look_end_the_run_as_changed(stage: Stage) -> None:
    stage.cluster.faults.lose_answer("reassign", applied=True)

    def blind(record: dict) -> None:
        if record["type"] == "step.result":
            stage.cluster.faults.unreadable["zookeeper"] = "gone"

    with pytest.raises(StoppedError, match="may or may not have happened"):
        stage.run(listener=blind)
    assert stage.methods() == ["reassign"]


def test_a_refused_change_changes_nothing_and_says_so(stage: Stage) -> None:
    stage.cluster.faults.answer("reassign", ChangeResult(31, "CLUSTER_AUTHORIZATION_FAILED"))
    stage.human = Answers(["y", "n"])
    with pytest.raises(ApprovalError, match="nothing was changed"):
        stage.run()
    result = next(r for r in stage.journal() if r["type"] == "step.result")
    assert (result["changed"], result["error"]) == (False, "CLUSTER_AUTHORIZATION_FAILED")


# -- the proof


def test_a_broker_that_does_not_answer_makes_the_proof_inconclusive(stage: Stage) -> None:
    stage.cluster.silence(3)
    with pytest.raises(NotProvedError, match="inconclusive") as caught:
        stage.run()
    assert caught.value.exit_code == 5
    assert "broker 3 did not answer" in str(caught.value)


def test_a_coordinator_that_never_loads_is_not_called_well(stage: Stage) -> None:
    stage.cluster.loading[26] = 10**6
    with pytest.raises(NotProvedError, match="OffsetFetch of broker 2 14"):
        stage.run()


def test_an_election_that_went_outside_the_isr_is_not_called_well(stage: Stage) -> None:
    """The race that Kafka cannot exclude: the partition works, and still the run says that it is not proved."""
    leave_stuck(stage, "reassign")

    def lost_race() -> None:
        stage.cluster.records.write_state(TP, 3, 9, (3,))
        stage.cluster.control._remember(TP, Phase.ONLINE)
        stage.cluster.control.tell((TP,))

    stage.cluster.faults.answer("elect", ChangeResult(0, "NONE"))
    stage.cluster.faults.before("elect", lost_race)
    stage.human = Answers(["y", "y"])
    with pytest.raises(NotProvedError, match=r"wanted: a leader among \[2\]"):
        stage.run()


def test_good_reads_must_come_in_a_row(stage: Stage) -> None:
    from kfix.model.verdict import Verdict
    from kfix.runbook.proof import Wanted, prove

    stage.run()
    plan = stage.last_run.plan()
    flaps = 0

    def flap(_call: object, _answer: object, in_row: int) -> None:
        nonlocal flaps
        if in_row == 2 and flaps < 1:
            flaps += 1
            stage.cluster.loading[26] = 1

    found = prove(Wanted(plan.goal.checks, 5, 0.2, 3), stage.cluster, stage.cluster.clock, flap)
    assert found.verdict is Verdict.PASS
    assert found.seconds == pytest.approx(1.0)


def test_a_proof_can_be_repeated_and_changes_nothing(stage: Stage) -> None:
    stage.run()
    plan = stage.last_run.plan()
    assert prove_again(plan, stage.cluster, stage.cluster.clock).verdict == "pass"
    stage.cluster.corrupt_state(TP, leader=-1, isr=(2,))
    assert prove_again(plan, stage.cluster, stage.cluster.clock).verdict == "fail"
    assert stage.methods() == ["reassign"]


def test_a_proof_on_another_cluster_is_refused(stage: Stage) -> None:
    stage.run()
    stage.cluster.cluster_id = "prod-us"
    with pytest.raises(RefusedError, match="this is prod-us"):
        prove_again(stage.last_run.plan(), stage.cluster, stage.cluster.clock)


def test_given_approves_nothing_by_default() -> None:
    assert Given().level is Gate.AUTO


def test_every_journal_of_these_endings_is_whole(stage: Stage) -> None:
    stage.run()
    back = read_back(stage.last_run.journal_path)
    assert not back.torn
    assert not back.broken
    assert back.records[-1]["outcome"] == "proved"
