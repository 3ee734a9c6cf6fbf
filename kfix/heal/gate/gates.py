"""Gates: the one place that asks a human. Levels are ordered; a flag covers only the plan it names.

There is no default yes and no flag for "never ask". No answer, end of input and no terminal all mean no.
"""

import re
import shlex
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kfix.core.errors import ApprovalError, UsageError
from kfix.core.harmless import lines
from kfix.core.ports import Clock, Human
from kfix.core.snapshot.snapshot import Mode
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.plan import Gate, OnFailure, Phase, Plan, PlannedStep

_APPROVAL = re.compile(r"(plan|step):([0-9a-f]{8})")
_TRIES = 3
# Reading a prompt and pressing a key and Enter takes more than 0.5 s, and typing a character more than 0.03 s. A faster
# answer was typed ahead, pasted or sent by a program, so it does not answer this screen.
_READING_SECONDS = 0.5
_SECONDS_A_CHARACTER = 0.03
_YES = frozenset({"y", "yes"})
# With SKIP, 79 columns.
KEYS = "[y] yes  [n] stop  [d] facts, proof, undo  [r] read again  [?] why"
SKIP = "  [s] skip"


class Unattended:
    """Stands for the missing human of a script: a gate that was not approved beforehand stays closed."""

    interactive = False

    def show(self, text: str) -> None:
        raise AssertionError(text)

    def ask(self, prompt: str, within: float | None = None) -> str | None:  # noqa: ARG002 - the protocol's
        raise AssertionError(prompt)


OnEarly = Callable[[float, float], None]
"""Called with the seconds after which an answer came too early, and the least a person needs."""


@dataclass(frozen=True, slots=True)
class AnswerReader:
    """Asks a person, and rejects answers that came faster than a person can read and type."""

    human: Human
    clock: Clock
    early: OnEarly = lambda _took, _least: None

    def ask(self, prompt: str, chosen: Callable[[str], bool], within: float | None = None) -> str | None:
        """Returns the stripped answer, or None at the end of input.

        `chosen` recognises the answers that make something happen; only these are rejected if they come too early.
        After three early answers the result is None.
        """
        for _ in range(_TRIES):
            shown_at = self.clock.monotonic()
            text = self.human.ask(prompt, within)
            took = self.clock.monotonic() - shown_at
            if text is None:
                return None
            answer = text.strip()
            least = reading_seconds(answer)
            if took >= least or not chosen(answer):
                return answer
            self.early(took, least)
            self.human.show(
                f"That answer came after {took:.2f} s, too fast to have read this screen. Please answer again."
            )
        return None


def reading_seconds(answer: str) -> float:
    """Returns the least time in seconds to read a prompt and type this answer, for a person who knows the screen."""
    return _READING_SECONDS + _SECONDS_A_CHARACTER * max(0, len(answer) - len("yes"))


@dataclass(frozen=True, slots=True)
class Screen:
    """The texts of one gate: the question, its details, and why it is asked."""

    text: str
    details: str
    why: str


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line approved: the highest level, phrases by step id, and the name of the second signer."""

    level: Gate = Gate.AUTO
    acks: Mapping[str, str] | None = None
    countersigned: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a gate. `answer` is for the journal: yes, no, end of input, a flag, or not covered."""

    passed: bool
    answer: str
    phrase_ok: bool | None = None
    skip: bool = False


def parse_given(approvals: Iterable[str], acks: Iterable[str], plan: Plan, countersigned: str = "") -> Given:
    """Parses `--approve plan:1a2b3c4d` or `step:1a2b3c4d`, and `--ack STEP=PHRASE`.

    Raises UsageError for text of another form or for another plan, ApprovalError for a wrong phrase.
    """
    level = Gate.AUTO
    for text in approvals:
        match = _APPROVAL.fullmatch(text)
        if match is None:
            raise UsageError(f"--approve {text!r} is not plan:<plan-id-8> or step:<plan-id-8>")
        if match[2] != plan.short_id:
            raise UsageError(f"--approve {text} names another plan; this plan is {plan.short_id}")
        level = max(level, Gate[match[1].upper()])
    phrases = [_ack(text, plan) for text in acks]
    wrong = [_wrong(step, given) for step, given in phrases if given != step.phrase]
    if wrong:
        raise ApprovalError(lines(*wrong, "nothing was changed"))
    return Given(level, {step.id: given for step, given in phrases}, countersigned)


def _wrong(step: PlannedStep, answer: str) -> str:
    return f"--ack {step.id}: wrong phrase {answer!r}; the phrase for this step is {step.phrase!r}"


def _ack(text: str, plan: Plan) -> tuple[PlannedStep, str]:
    step, equals, phrase = text.partition("=")
    known = {s.id: s for s in plan.steps if s.gate >= Gate.TYPED}
    if not equals or step not in known:
        raise UsageError(
            f"--ack {text!r} is not STEP=PHRASE of a typed step; the typed steps are: {', '.join(known) or 'none'}"
        )
    return known[step], phrase


def sure_phrases(plan: Plan) -> Iterator[tuple[int, PlannedStep]]:
    """Yields (number, step) of the typed steps that no earlier step can make unnecessary: asked before any change."""
    for number, step in enumerate(plan.steps, 1):
        if step.phase is not Phase.MAIN or not ACTIONS[step.action].changes:
            return
        if step.gate >= Gate.TYPED:
            yield number, step
        if step.on_failure is OnFailure.NEXT:
            return


def lowest_gate(*, apart: bool) -> Gate:
    """Returns the lowest gate of every change: with `apart`, a person approves each change separately."""
    return Gate.STEP if apart else Gate.AUTO


def opens_with_the_plan(plan: Plan, *, apart: bool) -> bool:
    """Returns whether the first question is about the whole plan, and so shows it."""
    lowest = lowest_gate(apart=apart or plan.cluster.mode is Mode.KRAFT)
    first = next((step for step in plan.steps if in_force(step, lowest) is not Gate.AUTO), None)
    return first is not None and in_force(first, lowest) is Gate.PLAN


def flags(plan: Plan, *, apart: bool = False) -> str:
    """Returns the flags that approve every gate of a plan, also on KRaft, whose cluster cannot be locked."""
    lowest = lowest_gate(apart=apart or plan.cluster.mode is Mode.KRAFT)
    return _flags(plan, [(step, in_force(step, lowest)) for step in plan.steps])


def in_force(step: PlannedStep, lowest: Gate) -> Gate:
    """Returns the gate in force. Steps at `auto`, such as waiting and restoring, stay there."""
    return step.gate if step.gate is Gate.AUTO else max(step.gate, lowest)


def _flags(plan: Plan, levels: list[tuple[PlannedStep, Gate]]) -> str:
    plain = max((level for _, level in levels if level < Gate.TYPED), default=Gate.AUTO)
    words = [] if plain is Gate.AUTO else [f"--approve {plain.word}:{plan.short_id}"]
    words += [f"--ack {shlex.quote(f'{step.id}={step.phrase}')}" for step, level in levels if level >= Gate.TYPED]
    words += ["--countersign FILE"] if any(level is Gate.TWO_PERSON for _, level in levels) else []
    return " ".join(words)


class Gatekeeper:
    """Asks at the gates of one plan. `lowest` raises the gate of every change, as if the cluster has no lock."""

    def __init__(self, plan: Plan, reader: AnswerReader, given: Given, lowest: Gate = Gate.AUTO) -> None:
        self.plan = plan
        self.reader = reader
        self.human = reader.human
        self.given = given
        self.lowest = lowest
        self.plan_approved = False
        self.passed: set[str] = set()

    def level(self, step: PlannedStep) -> Gate:
        return in_force(step, self.lowest)

    def open_without_asking(self, step: PlannedStep) -> bool:
        """Returns whether the step needs no question: it has no gate, or its gate was passed already."""
        level = self.level(step)
        return level is Gate.AUTO or step.id in self.passed or (level is Gate.PLAN and self.plan_approved)

    def ask(self, step: PlannedStep, screen: Screen, again: Callable[[], Screen]) -> Reply:
        """Asks at the gate of a step. `again` reads the facts again for a new screen, and may raise `Stop`."""
        level = self.level(step)
        reply = self._typed(step, screen, again) if level >= Gate.TYPED else self._yes_or_no(step, screen, again)
        # A yes to a step covers only the step on its screen.
        if reply.passed and level is Gate.PLAN:
            self.plan_approved = True
        if reply.passed:
            self.passed.add(step.id)
        return reply

    def sure(self, done: Container[str]) -> tuple[PlannedStep, ...]:
        """Returns the steps whose gate the run is sure to reach, whatever the steps before them achieve."""
        steps = (s for s in self.plan.steps if s.phase is Phase.MAIN and s.on_failure is not OnFailure.NEXT)
        return tuple(s for s in steps if s.id not in done and self.level(s) is not Gate.AUTO)

    def later(self, done: Container[str]) -> tuple[PlannedStep, ...]:
        """Returns the other steps whose gate may be reached and is not covered by a flag."""
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
        return _flags(self.plan, [(step, self.level(step)) for step in steps])

    def confirm_continue(self, text: str) -> bool:
        if not self.human.interactive:
            return False
        self.human.show(text)
        return (self.reader.ask("[y] continue  [n] stop here > ", _is_yes) or "").lower() in _YES

    def _yes_or_no(self, step: PlannedStep, screen: Screen, again: Callable[[], Screen]) -> Reply:
        if self.given.level >= self.level(step):
            return Reply(True, f"flag --approve {self.given.level.word}:{self.plan.short_id}")
        if not self.human.interactive:
            return Reply(False, "not approved beforehand, and no terminal to ask at")
        may_skip = step.on_failure in {OnFailure.NEXT, OnFailure.CONTINUE}
        self.human.show(screen.text)
        while True:
            answer = self.reader.ask(f"{KEYS}{SKIP if may_skip else ''} > ", _is_yes_or_skip)
            match answer.lower() if answer is not None else None:
                case None:
                    return Reply(False, "end of input")
                case "y" | "yes":
                    return Reply(True, "yes")
                case "n" | "no":
                    return Reply(False, "no")
                case "s" if may_skip:
                    return Reply(False, "skipped", skip=True)
                case "r":
                    screen = again()
                    self.human.show(screen.text)
                case other:
                    self._more(other, screen)

    def _typed(self, step: PlannedStep, screen: Screen, again: Callable[[], Screen]) -> Reply:
        """Asks for the phrase. For a step that two persons approve, the answer names the second one."""
        if self.level(step) is not Gate.TWO_PERSON:
            return self._phrase(step, screen, again)
        if not self.given.countersigned:
            return Reply(False, "a second person has not signed this plan (--countersign FILE)")
        reply = self._phrase(step, screen, again)
        return replace(reply, answer=f"{reply.answer}, countersigned by {self.given.countersigned}")

    def _phrase(self, step: PlannedStep, screen: Screen, again: Callable[[], Screen]) -> Reply:
        given = (self.given.acks or {}).get(step.id)
        if given is not None:
            right = given == step.phrase
            return Reply(right, "flag --ack" if right else "wrong phrase in --ack", right)
        if not self.human.interactive:
            return Reply(False, "not approved beforehand, and no terminal to ask at")
        return self._at_the_keyboard(step, screen, again)

    def _at_the_keyboard(self, step: PlannedStep, screen: Screen, again: Callable[[], Screen]) -> Reply:
        self.human.show(screen.text)
        tries = 0
        while tries < _TRIES:
            prompt = f"type  {step.phrase}  to continue (Enter: stop  [d] details  [?] why this gate) > "
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

    def _more(self, key: str, screen: Screen) -> bool:
        """Shows details or reasons; returns False if the key asks for neither."""
        text = {"d": screen.details, "?": screen.why}.get(key)
        self.human.show(text or "Not a valid answer.")
        return text is not None


def _is_yes(answer: str) -> bool:
    return answer.lower() in _YES


def _is_yes_or_skip(answer: str) -> bool:
    return answer.lower() in {*_YES, "s"}
