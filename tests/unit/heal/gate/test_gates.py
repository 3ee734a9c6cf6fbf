"""A gate by itself: only its own answer opens it, and only after the time that a person needs for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.core.errors import ApprovalError, UsageError
from kfix.heal.gate.gates import AnswerReader, Gatekeeper, Given, Reply, Screen, parse_given, reading_seconds
from kfix.heal.model.plan import Gate, OnFailure, Plan, PlannedStep
from tests.each import for_each
from tests.unit.heal.stage import Answers, Stage

SCREEN, AGAIN = Screen("the question", "the details", "the reason"), Screen("new facts", "new details", "new reason")


NOTHING = Given()


class Desk:
    """A plan of one step of each gate, and a person who takes `seconds` for each answer."""

    def __init__(self, stage: Stage, *answers: str, seconds: float = 5.0, interactive: bool = True) -> None:
        step = replace(stage.plan().steps[0], on_failure=OnFailure.STOP)
        self.steps = {gate: replace(step, id=gate.word, gate=gate, phrase=f"{gate.word} it") for gate in Gate}
        self.plan: Plan = replace(stage.plan(), steps=tuple(self.steps.values()))
        clock = stage.cluster.clock
        self.human = Answers(list(answers), interactive, reads=lambda: clock.sleep(seconds))
        self.early: list[float] = []
        self.reader = AnswerReader(self.human, clock, lambda took, _least: self.early.append(took))

    def keeper(self, given: Given = NOTHING, lowest: Gate = Gate.AUTO) -> Gatekeeper:
        return Gatekeeper(self.plan, self.reader, given, lowest)

    def ask(self, gate: Gate, *, may_skip: bool = False) -> Reply:
        step = replace(self.steps[gate], on_failure=OnFailure.NEXT if may_skip else OnFailure.STOP)
        return self.keeper(Given(countersigned="bob")).ask(step, SCREEN, lambda: AGAIN)


# -- one answer


@for_each("gate", [Gate.PLAN, Gate.STEP])
@for_each(
    ("answers", "passed", "word"),
    [
        (["y"], True, "yes"),
        (["YES"], True, "yes"),
        (["n"], False, "no"),
        (["No"], False, "no"),
        ([], False, "end of input"),
        *((([other, "n"]), False, "no") for other in ("", "x", "yy", "ye", "1", "yes please", "s", "d", "?", "r")),
    ],
)
def test_only_yes_opens_a_gate(stage: Stage, gate: Gate, answers: list[str], passed: bool, word: str) -> None:
    desk = Desk(stage, *answers)
    assert desk.ask(gate) == Reply(passed, word)
    assert desk.human.answers == []


def test_what_is_shown_after_a_key_is_what_it_asks_for(stage: Stage) -> None:
    desk = Desk(stage, "d", "?", "r", "d", "", "n")
    desk.ask(Gate.STEP)
    shown = [SCREEN.text, SCREEN.details, SCREEN.why, AGAIN.text, AGAIN.details, "Not a valid answer."]
    assert desk.human.shown == shown


def test_a_step_is_skipped_only_where_the_prompt_offers_it(stage: Stage) -> None:
    desk = Desk(stage, "s")
    assert desk.ask(Gate.STEP, may_skip=True) == Reply(False, "skipped", skip=True)
    assert "[s]" in desk.human.asked[0]
    desk = Desk(stage, "s", "n")
    assert desk.ask(Gate.STEP) == Reply(False, "no")
    assert "[s]" not in desk.human.asked[0]


@for_each(
    ("answers", "reply"),
    [
        (["typed it"], Reply(True, "phrase", True)),
        (["d", "?", "r", "y", "typed it"], Reply(True, "phrase", True)),
        (["Typed it", "typed", "y", "typed it"], Reply(False, "wrong phrase", False)),
        *(([no, "typed it"], Reply(False, "no", False)) for no in ("", " ", "n", "NO")),
        ([], Reply(False, "end of input", False)),
    ],
)
def test_a_typed_gate_opens_for_its_phrase_alone(stage: Stage, answers: list[str], reply: Reply) -> None:
    assert Desk(stage, *answers).ask(Gate.TYPED) == reply


@for_each(
    ("answers", "interactive", "goes_on"),
    [(["y"], True, True), (["yes"], True, True), (["y"], False, False)]
    + [(each, True, False) for each in (["n"], [""], [], ["x", "y"], ["s"])],
)
def test_a_run_is_continued_after_a_clear_yes_only(
    stage: Stage, answers: list[str], interactive: bool, goes_on: bool
) -> None:
    desk = Desk(stage, *answers, interactive=interactive)
    assert desk.keeper().confirm_continue("continue?") is goes_on
    assert len(desk.human.asked) == interactive


# -- its time


PHRASE = "memory-cluster/__consumer_offsets-26/replicas 3,1,2"


@for_each("answer", ["y", "yes", PHRASE])
def test_an_answer_that_comes_too_early_is_asked_for_again(stage: Stage, answer: str) -> None:
    least = reading_seconds(answer)
    soon = Desk(stage, *[answer] * 4, seconds=least - 0.01)
    assert soon.reader.ask("> ", answer.__eq__) is None
    assert len(soon.human.asked) == len(soon.early) == 3
    late = Desk(stage, answer, seconds=least + 0.01)
    assert late.reader.ask("> ", answer.__eq__) == answer
    assert late.early == []


def test_an_answer_that_makes_nothing_happen_may_come_at_once(stage: Stage) -> None:
    assert Desk(stage, "n", seconds=0.0).reader.ask("> ", "y".__eq__) == "n"


def test_a_longer_answer_takes_longer() -> None:
    assert reading_seconds("") == reading_seconds("y") == reading_seconds("yes") == 0.5
    assert reading_seconds("yes" + 100 * "x") == pytest.approx(3.5)


# -- what one yes covers


@for_each("gate", [Gate.PLAN, Gate.STEP, Gate.TYPED, Gate.TWO_PERSON])
def test_a_yes_covers_its_own_step_and_a_yes_to_the_plan_its_other_steps_of_that_level(
    stage: Stage, gate: Gate
) -> None:
    desk = Desk(stage, f"{gate.word} it" if gate >= Gate.TYPED else "y")
    keeper = desk.keeper(Given(countersigned="bob"))
    assert keeper.ask(desk.steps[gate], SCREEN, lambda: AGAIN).passed
    others = {other: replace(step, id=f"another {step.id}") for other, step in desk.steps.items()}
    assert keeper.open_without_asking(desk.steps[gate])
    opens = {other for other, step in others.items() if keeper.open_without_asking(step)}
    assert opens == ({Gate.AUTO, Gate.PLAN} if gate is Gate.PLAN else {Gate.AUTO})


def test_a_gate_that_did_not_open_opens_nothing(stage: Stage) -> None:
    desk = Desk(stage, "n")
    keeper = desk.keeper()
    assert not keeper.ask(desk.steps[Gate.PLAN], SCREEN, lambda: AGAIN).passed
    assert [gate for gate, step in desk.steps.items() if keeper.open_without_asking(step)] == [Gate.AUTO]


@for_each("lowest", list(Gate))
def test_without_a_lock_no_gate_of_a_change_is_below_the_lowest(stage: Stage, lowest: Gate) -> None:
    desk = Desk(stage)
    keeper = desk.keeper(lowest=lowest)
    levels = {gate: keeper.level(step) for gate, step in desk.steps.items()}
    assert levels == {gate: gate if gate is Gate.AUTO else max(gate, lowest) for gate in Gate}


# -- flags


def covered(keeper: Gatekeeper, steps: dict[Gate, PlannedStep]) -> set[Gate]:
    return {gate for gate, step in steps.items() if keeper.covered(step)}


def test_flags_cover_their_level_and_a_second_signature_takes_a_phrase(stage: Stage) -> None:
    desk = Desk(stage)
    acks = {step.id: step.phrase for gate, step in desk.steps.items() if gate >= Gate.TYPED}
    assert covered(desk.keeper(Given(Gate.PLAN)), desk.steps) == {Gate.AUTO, Gate.PLAN}
    assert covered(desk.keeper(Given(Gate.STEP)), desk.steps) == {Gate.AUTO, Gate.PLAN, Gate.STEP}
    assert covered(desk.keeper(Given(acks=acks)), desk.steps) == {Gate.AUTO, Gate.TYPED}
    assert covered(desk.keeper(Given(countersigned="bob")), desk.steps) == {Gate.AUTO}
    both = desk.keeper(Given(Gate.STEP, acks, "bob"))
    assert covered(both, desk.steps) == set(Gate)


@for_each("given", [NOTHING, Given(Gate.STEP), Given(acks={"two_person": "two_person it"})])
def test_a_step_for_two_persons_is_not_even_asked_for_without_a_signature(stage: Stage, given: Given) -> None:
    desk = Desk(stage, "two_person it", "y")
    reply = desk.keeper(given).ask(desk.steps[Gate.TWO_PERSON], SCREEN, lambda: AGAIN)
    assert reply == Reply(False, "a second person has not signed this plan (--countersign FILE)")
    assert desk.human.asked == []


@for_each("gate", [Gate.PLAN, Gate.STEP])
def test_an_approval_for_another_plan_is_refused(stage: Stage, gate: Gate) -> None:
    plan = Desk(stage).plan
    assert parse_given([f"{gate.word}:{plan.short_id}"], [], plan).level is gate
    with pytest.raises(UsageError, match="names another plan"):
        parse_given([f"{gate.word}:00000000"], [], plan)


@for_each("wrong", ["Typed it", "typed  it", "typed it ", "typed", "", "two_person it", "y"])
def test_a_phrase_on_the_command_line_is_the_phrase_to_the_letter(stage: Stage, wrong: str) -> None:
    plan = Desk(stage).plan
    assert parse_given([], ["typed=typed it"], plan).acks == {"typed": "typed it"}
    with pytest.raises(ApprovalError, match="nothing was changed"):
        parse_given([], [f"typed={wrong}"], plan)
