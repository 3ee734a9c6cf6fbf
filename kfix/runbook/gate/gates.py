"""The one place where a human is asked. Levels are ordered; a flag covers no more than the plan it names.

There is no yes by default and no flag for "never ask": no answer, an end of input and no terminal all mean no.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from kfix.actions.registry import ALL as ACTIONS
from kfix.errors import ApprovalError, UsageError
from kfix.harmless import lines
from kfix.model.plan.plan import Gate, OnFailure, Phase, Plan, PlannedStep
from kfix.ports import Clock

_APPROVAL = re.compile(r"(plan|step):([0-9a-f]{8})")
_TRIES = 3
# Nobody reads a prompt, presses a key and Enter within half a second, and nobody types 33 characters a second.
# An answer that is faster was typed ahead or pasted, or a program gave it: it says nothing of this screen.
_READING_SECONDS = 0.5
_SECONDS_A_CHARACTER = 0.03
_YES = frozenset({"y", "yes"})
KEYS = "[y] yes  [n] stop here  [d] details  [r] read again  [?] why am I asked"
SKIP = "  [s] leave this one out"


class Human(Protocol):
    """`ask` gives None at the end of input. Nothing is asked where `interactive` is False.

    `ask` drops whatever was typed before it shows its prompt: an answer is given to what stands on the screen.
    `within` seconds without an answer are the end of input as well.
    """

    @property
    def interactive(self) -> bool: ...

    def show(self, text: str) -> None: ...

    def ask(self, prompt: str, within: float | None = None) -> str | None: ...


OnEarly = Callable[[float, float], None]
"""Hears of an answer that came too early: after how many seconds, and how many a person needs at least."""


@dataclass(frozen=True, slots=True)
class AnswerReader:
    """Asks a person, and takes no answer that came faster than a person reads and types."""

    human: Human
    clock: Clock
    early: OnEarly = lambda _took, _least: None

    def ask(self, prompt: str, chosen: Callable[[str], bool], within: float | None = None) -> str | None:
        """The answer without spaces around it; None at the end of input.

        `chosen` tells the answers that let something happen: these must not come early. Three that do are the end of
        input: whoever answers is no person.
        """
        for _ in range(_TRIES):
            stood = self.clock.monotonic()
            said = self.human.ask(prompt, within)
            took = self.clock.monotonic() - stood
            if said is None:
                return None
            answer = said.strip()
            least = reading_seconds(answer)
            if took >= least or not chosen(answer):
                return answer
            self.early(took, least)
            self.human.show(
                f"That answer came after {took:.2f} s, before anybody could have read this screen. Please answer again."
            )
        return None


def reading_seconds(answer: str) -> float:
    """How long it takes at least to read a prompt and to type this answer, for somebody who knows the screen."""
    return _READING_SECONDS + _SECONDS_A_CHARACTER * max(0, len(answer) - len("yes"))


@dataclass(frozen=True, slots=True)
class Screen:
    """Everything a person is told at one gate. `stopping` says what is changed already and what stopping leaves."""

    text: str
    details: str
    why: str


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line approved: at most one level for one plan, phrases by step, and who signed beside them."""

    level: Gate = Gate.AUTO
    acks: Mapping[str, str] | None = None
    countersigned: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """`answer` is for the journal: yes, no, end of input, flag, or not covered."""

    passed: bool
    answer: str
    phrase_ok: bool | None = None
    skip: bool = False


def parse_given(approvals: Iterable[str], acks: Iterable[str], plan: Plan, countersigned: str = "") -> Given:
    """`plan:1a2b3c4d` and `step:1a2b3c4d`; approving a plan is not approving any plan."""
    level = Gate.AUTO
    for text in approvals:
        match = _APPROVAL.fullmatch(text)
        if match is None:
            raise UsageError(f"--approve {text!r} is not plan:<plan-id-8> or step:<plan-id-8>")
        if match[2] != plan.short_id:
            raise UsageError(f"--approve {text} names another plan; this one is {plan.short_id}")
        level = max(level, Gate[match[1].upper()])
    phrases = [_ack(text, plan) for text in acks]
    wrong = [_wrong(step, given) for step, given in phrases if given != step.phrase]
    if wrong:
        raise ApprovalError(lines(*wrong, "nothing was changed"))
    return Given(level, {step.id: given for step, given in phrases}, countersigned)


def _wrong(step: PlannedStep, given: str) -> str:
    return f"--ack {step.id}: {given!r} is the wrong phrase; the phrase of this step is {step.phrase!r}"


def _ack(text: str, plan: Plan) -> tuple[PlannedStep, str]:
    step, equals, phrase = text.partition("=")
    known = {s.id: s for s in plan.steps if s.gate >= Gate.TYPED}
    if not equals or step not in known:
        raise UsageError(f"--ack {text!r} is not STEP=PHRASE for a typed step; those are: {', '.join(known) or 'none'}")
    return known[step], phrase


def sure_phrases(plan: Plan) -> Iterator[tuple[int, PlannedStep]]:
    """Typed steps, with their numbers, that no step before them can make superfluous.

    A phrase is asked for before the first change, so that a plan that is declined there has changed nothing.
    """
    for number, step in enumerate(plan.steps, 1):
        if step.phase is not Phase.MAIN or not ACTIONS[step.action].changes:
            return
        if step.gate >= Gate.TYPED:
            yield number, step
        if step.on_failure is OnFailure.NEXT:
            return


def flags(plan: Plan) -> str:
    """All that a command line must carry for every gate of a plan."""
    levels = [step.gate for step in plan.steps]
    plain = max((level for level in levels if level < Gate.TYPED), default=Gate.AUTO)
    words = [f"--approve {plain.word}:{plan.short_id}"] if plain is not Gate.AUTO else []
    words += [f"--ack '{step.id}={step.phrase}'" for step in plan.steps if step.gate >= Gate.TYPED]
    return " ".join([*words, *(["--countersign FILE"] if Gate.TWO_PERSON in levels else [])])


class Gatekeeper:
    """`lowest` raises the gate of every change, as where nobody can lock the cluster; it never lowers one."""

    def __init__(self, plan: Plan, reader: AnswerReader, given: Given, lowest: Gate = Gate.AUTO) -> None:
        self.plan = plan
        self.reader = reader
        self.human = reader.human
        self.given = given
        self.lowest = lowest
        self.plan_approved = False
        self.passed: set[str] = set()

    def level(self, step: PlannedStep) -> Gate:
        """What takes nothing away and what puts back what was there asks nobody, in any case."""
        return step.gate if step.gate is Gate.AUTO else max(step.gate, self.lowest)

    def open_without_asking(self, step: PlannedStep) -> bool:
        """No gate, or its phrase was given already, or the plan was approved and the gate is not above that."""
        level = self.level(step)
        return level is Gate.AUTO or step.id in self.passed or (level is Gate.PLAN and self.plan_approved)

    def ask(self, step: PlannedStep, screen: Screen, again: Callable[[], Screen]) -> Reply:
        """`again` reads the facts afresh for a screen of now; it may end the run where they changed."""
        level = self.level(step)
        reply = self._typed(step, screen, again) if level >= Gate.TYPED else self._yes_or_no(step, screen, again)
        # A yes to one step was given to that step's screen, which says nothing of the others.
        if reply.passed and level is Gate.PLAN:
            self.plan_approved = True
        if reply.passed:
            self.passed.add(step.id)
        return reply

    def sure(self, done: Container[str]) -> tuple[PlannedStep, ...]:
        """Steps that will surely ask, not only where the rung before them did not help."""
        steps = (s for s in self.plan.steps if s.phase is Phase.MAIN and s.on_failure is not OnFailure.NEXT)
        return tuple(s for s in steps if s.id not in done and self.level(s) is not Gate.AUTO)

    def later(self, done: Container[str]) -> tuple[PlannedStep, ...]:
        """Steps that may ask besides those, and that no flag answers."""
        sure = self.sure(done)
        rest = (s for s in self.plan.steps if s.phase is not Phase.ALWAYS and s.id not in done and s not in sure)
        return tuple(s for s in rest if not self.covered(s))

    def covered(self, step: PlannedStep) -> bool:
        level = self.level(step)
        if level < Gate.TYPED:
            return self.given.level >= level
        signed = level is Gate.TYPED or bool(self.given.countersigned)
        return signed and (self.given.acks or {}).get(step.id) == step.phrase

    def needed(self, *steps: PlannedStep) -> str:
        """All that a command line must carry for gates that nobody can answer."""
        levels = {step.id: self.level(step) for step in steps}
        plain = max((level for level in levels.values() if level < Gate.TYPED), default=Gate.AUTO)
        words = [] if plain is Gate.AUTO else [f"--approve {plain.word}:{self.plan.short_id}"]
        words += [f"--ack {shlex.quote(f'{s.id}={s.phrase}')}" for s in steps if levels[s.id] >= Gate.TYPED]
        return " ".join([*words, *(["--countersign FILE"] if Gate.TWO_PERSON in levels.values() else [])])

    def go_on(self, text: str) -> bool:
        if not self.human.interactive:
            return False
        self.human.show(text)
        return (self.reader.ask("[y] go on  [n] stop here > ", _is_yes) or "").lower() in _YES

    def _yes_or_no(self, step: PlannedStep, screen: Screen, again: Callable[[], Screen]) -> Reply:
        if self.given.level >= self.level(step):
            return Reply(True, f"flag --approve {self.given.level.word}:{self.plan.short_id}")
        if not self.human.interactive:
            return Reply(False, "not covered, and nobody to ask")
        may_skip = step.on_failure in {OnFailure.NEXT, OnFailure.CONTINUE}
        self.human.show(screen.text)
        while True:
            said = self.reader.ask(f"{KEYS}{SKIP if may_skip else ''} > ", _is_yes_or_skip)
            match said.lower() if said is not None else None:
                case None:
                    return Reply(False, "end of input")
                case "y" | "yes":
                    return Reply(True, "yes")
                case "n" | "no":
                    return Reply(False, "no")
                case "s" if may_skip:
                    return Reply(False, "left out", skip=True)
                case "r":
                    screen = again()
                    self.human.show(screen.text)
                case other:
                    self._more(other, screen)

    def _typed(self, step: PlannedStep, screen: Screen, again: Callable[[], Screen]) -> Reply:
        if self.level(step) is Gate.TWO_PERSON and not self.given.countersigned:
            return Reply(False, "nobody else has signed this plan (--countersign FILE)")
        given = (self.given.acks or {}).get(step.id)
        if given is not None:
            right = given == step.phrase
            return Reply(right, "flag --ack" if right else "wrong phrase in --ack", right)
        if not self.human.interactive:
            return Reply(False, "not covered, and nobody to ask")
        return self._at_the_keyboard(step, screen, again)

    def _at_the_keyboard(self, step: PlannedStep, screen: Screen, again: Callable[[], Screen]) -> Reply:
        self.human.show(screen.text)
        tries = 0
        while tries < _TRIES:
            prompt = f"type  {step.phrase}  to go on (Enter: stop here  [d] details  [?] why) > "
            word = self.reader.ask(prompt, step.phrase.__eq__)
            if word is None:
                return Reply(False, "end of input", False)
            if word == step.phrase:
                return Reply(True, "phrase", True)
            if word.lower() in {"n", "no", ""}:
                return Reply(False, "no", False)
            if word.lower() == "r":
                screen = again()
                self.human.show(screen.text)
                continue
            tries += not self._more(word.lower(), screen)
        return Reply(False, "wrong phrase", False)

    def _more(self, said: str, screen: Screen) -> bool:
        """Shows what was asked for; anything else is told to be no answer."""
        text = {"d": screen.details, "?": screen.why}.get(said)
        self.human.show(text or "that is no answer")
        return text is not None


def _is_yes(answer: str) -> bool:
    return answer.lower() in _YES


def _is_yes_or_skip(answer: str) -> bool:
    return answer.lower() in {*_YES, "s"}
