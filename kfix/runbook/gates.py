"""The one place where a human is asked. Levels are ordered; a flag covers no more than the plan it names.

There is no yes by default and no flag for "never ask": no answer, an end of input and no terminal all mean no.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from kfix.errors import UsageError
from kfix.model.plan import Gate, Plan, PlannedStep

_APPROVAL = re.compile(r"(plan|step):([0-9a-f]{8})")
_TRIES = 3
KEYS = "[y] yes  [n] stop here  [d] details  [?] why am I asked"


class Human(Protocol):
    """`ask` gives None at the end of input. Nothing is asked where `interactive` is False."""

    @property
    def interactive(self) -> bool: ...

    def show(self, text: str) -> None: ...

    def ask(self, prompt: str) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Screen:
    """Everything a person is told at one gate. `stopping` says what is changed already and what stopping leaves."""

    text: str
    details: str
    why: str


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line approved: at most one level for one plan, and phrases by step."""

    level: Gate = Gate.AUTO
    acks: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """`answer` is for the journal: yes, no, end of input, flag, or not covered."""

    passed: bool
    answer: str
    phrase_ok: bool | None = None


def parse_given(approvals: Iterable[str], acks: Iterable[str], plan: Plan) -> Given:
    """`plan:1a2b3c4d` and `step:1a2b3c4d`; approving a plan is not approving any plan."""
    level = Gate.AUTO
    for text in approvals:
        match = _APPROVAL.fullmatch(text)
        if match is None:
            raise UsageError(f"--approve {text!r} is not plan:<plan-id-8> or step:<plan-id-8>")
        if match[2] != plan.short_id:
            raise UsageError(f"--approve {text} names another plan; this one is {plan.short_id}")
        level = max(level, Gate[match[1].upper()])
    phrases = dict(_ack(text, plan) for text in acks)
    return Given(level, phrases)


def _ack(text: str, plan: Plan) -> tuple[str, str]:
    step, equals, phrase = text.partition("=")
    known = [s.id for s in plan.steps if s.gate is Gate.TYPED]
    if not equals or step not in known:
        raise UsageError(f"--ack {text!r} is not STEP=PHRASE for a typed step; those are: {', '.join(known) or 'none'}")
    return step, phrase


class Gatekeeper:
    def __init__(self, plan: Plan, human: Human, given: Given) -> None:
        self.plan = plan
        self.human = human
        self.given = given
        self.plan_approved = False

    def open_without_asking(self, step: PlannedStep) -> bool:
        """No gate, or the plan was approved in this run and the gate is not above that; a flag is an answer too."""
        return step.gate is Gate.AUTO or (step.gate is Gate.PLAN and self.plan_approved)

    def ask(self, step: PlannedStep, screen: Screen) -> Reply:
        reply = self._typed(step, screen) if step.gate is Gate.TYPED else self._yes_or_no(step, screen)
        # A yes to one step was given to that step's screen, which says nothing of the others.
        if reply.passed and step.gate is Gate.PLAN:
            self.plan_approved = True
        return reply

    def needed(self, step: PlannedStep) -> str:
        """What to pass on a command line for a gate that nobody can answer."""
        if step.gate is Gate.TYPED:
            return f"--ack '{step.id}={step.phrase}'"
        return f"--approve {step.gate.word}:{self.plan.short_id}"

    def _yes_or_no(self, step: PlannedStep, screen: Screen) -> Reply:
        if self.given.level >= step.gate:
            return Reply(True, f"flag --approve {self.given.level.word}:{self.plan.short_id}")
        if not self.human.interactive:
            return Reply(False, "not covered, and nobody to ask")
        self.human.show(screen.text)
        while True:
            said = self.human.ask(f"{KEYS} > ")
            match said.strip().lower() if said is not None else None:
                case None:
                    return Reply(False, "end of input")
                case "y" | "yes":
                    return Reply(True, "yes")
                case "n" | "no":
                    return Reply(False, "no")
                case other:
                    self._more(other, screen)

    def _typed(self, step: PlannedStep, screen: Screen) -> Reply:
        given = (self.given.acks or {}).get(step.id)
        if given is not None:
            right = given == step.phrase
            return Reply(right, "flag --ack" if right else "wrong phrase in --ack", right)
        if not self.human.interactive:
            return Reply(False, "not covered, and nobody to ask")
        self.human.show(screen.text)
        tries = 0
        while tries < _TRIES:
            said = self.human.ask(f"type  {step.phrase}  to go on ([n] stop here  [d] details  [?] why) > ")
            if said is None:
                return Reply(False, "end of input", False)
            if said.strip() == step.phrase:
                return Reply(True, "phrase", True)
            if said.strip().lower() in {"n", "no"}:
                return Reply(False, "no", False)
            tries += not self._more(said.strip().lower(), screen)
        return Reply(False, "wrong phrase", False)

    def _more(self, said: str, screen: Screen) -> bool:
        """Shows what was asked for; anything else is told to be no answer."""
        text = {"d": screen.details, "?": screen.why}.get(said)
        self.human.show(text or "that is no answer")
        return text is not None
