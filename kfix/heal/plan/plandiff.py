"""Compares two plans for the same remedy: facts, steps and arguments, each as it was and as it is."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kfix.core.args import Args
from kfix.core.errors import UsageError
from kfix.heal.model.facts import show_value
from kfix.heal.model.plan import CheckCall, Plan, PlannedStep
from kfix.heal.plan.planfile import to_plain

ABSENT = "-"
# These identify the plan instead of describing it, or are listed in words of their own.
_NAMES = frozenset({"plan_id", "created", "expires_at"})
_IN_WORDS = frozenset({"facts", "steps", "goal", "preconditions", "invariants", "standing", "skipped_at_plan"})


def differences(old: Plan, new: Plan) -> tuple[tuple[str, str, str], ...]:
    """Returns (what, as it was, as it is) in the order of the new plan, then those only in the old one.

    Raises UsageError if the plans are for different runbooks or findings.
    """
    if (old.runbook.id, old.finding.code) != (new.runbook.id, new.finding.code):
        subjects = [f"{p.runbook.id} for {p.finding.code}" for p in (old, new)]
        raise UsageError(f"plan {old.short_id} is {subjects[0]}, this plan is {subjects[1]}: they cannot be compared")
    was, is_ = dict(_flat(old)), dict(_flat(new))
    keys = [*is_, *(key for key in was if key not in is_)]
    found = ((key, was.get(key, ABSENT), is_.get(key, ABSENT)) for key in keys)
    return tuple(row for row in found if row[1] != row[2] and _told_by_itself(row[0], was, is_))


def _told_by_itself(what: str, was: Mapping[str, str], is_: Mapping[str, str]) -> bool:
    """Reduces the rows of a step that only one plan has to its name."""
    head, colon, _ = what.partition(": ")
    return not colon or (head in was and head in is_)


def _flat(plan: Plan) -> Iterator[tuple[str, str]]:
    yield "kfix", plan.created.kfix
    for name, value in to_plain(plan).items():
        if name not in _NAMES | _IN_WORDS:
            yield from _leaves(name, value)
    for fact in plan.facts:
        version = "" if fact.version is None else f" (version {fact.version})"
        yield f"fact {fact.key}", f"{show_value(fact.value)}{version}"
    yield "preconditions", _calls(plan.preconditions)
    yield "invariants", "; ".join(f"{_calls((i.call,))} or {i.on_breach}" for i in plan.invariants) or ABSENT
    yield "standing", _calls(plan.standing)
    yield "skipped", "; ".join(f"{s.step}: {s.reason}" for s in plan.skipped_at_plan) or ABSENT
    yield "goal", _calls(plan.goal.checks)
    yield "goal.proof", f"{plan.goal.consecutive} times within {plan.goal.timeout:g} s"
    yield "order of steps", ", ".join(step.id for step in plan.steps)
    for step in plan.steps:
        yield from _step(step)


def _step(step: PlannedStep) -> Iterator[tuple[str, str]]:
    """Yields rows for the arguments of a step. `what`, `undo` and the like follow from them and are left out."""
    head = f"step {step.id}"
    yield head, step.action
    for name, value in step.args.items():
        yield f"{head}: {name}", _text(to_plain(value))
    yield f"{head}: gate", step.gate.word
    yield f"{head}: why", step.why
    for name, calls in (("require", step.require), ("unless", step.unless), ("verify", step.verify)):
        yield f"{head}: {name}", _calls(calls)
    rest = (step.verify_timeout, step.phase.value, step.on_failure.value, step.batch, step.pause)
    names = ("verify_timeout", "phase", "on_failure", "batch", "pause")
    yield from ((f"{head}: {name}", _text(value)) for name, value in zip(names, rest, strict=True))


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}", inner)
    else:
        yield name, _text(value)


def _calls(calls: tuple[CheckCall, ...]) -> str:
    """Sorts arguments by name, because a file may order them differently than a new plan."""
    return "; ".join(str(CheckCall(c.check, Args(dict(sorted(c.args.items()))))) for c in calls) or ABSENT


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
