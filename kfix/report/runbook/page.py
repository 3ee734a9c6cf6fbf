"""A runbook as a page for people: what for, how it is proved, every step with why, gate, undo and the way by hand.

On the day kfix itself is not at hand the page is the checklist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kfix.actions.words import amount
from kfix.harmless import Lines, lines
from kfix.model.plan.args import ArgKind
from kfix.model.plan.plan import OnBreach, OnFailure, Phase
from kfix.model.plan.runbook import CheckTemplate, ForEach, Param, Placement, RawValue, Runbook, StepTemplate, words
from kfix.report.runbook.progress import rate_words


@dataclass(frozen=True, slots=True)
class ActionWords:
    """What the page says of an action; the caller takes it from the registry."""

    summary: str
    risk: str
    floor: str
    undo: str
    command: str


def page(runbook: Runbook, actions: Mapping[str, ActionWords], by_hand: Mapping[str, str] | None = None) -> Lines:
    """`by_hand` are the commands of steps by id, told with the runbook's own arguments."""
    modes = ", ".join(sorted(mode.value for mode in runbook.modes))
    rows = [
        f"# {runbook.id}",
        "",
        *runbook.about.splitlines(),
        "",
        f"For {' or '.join(_purpose(runbook))} on {modes} clusters; version {runbook.version}, by {runbook.owner}.",
        _limits(runbook),
        "",
        *_placement(runbook.placement),
        "## Before anything",
        "",
        *(_check(c) for c in runbook.preconditions),
        "",
        *_invariants(runbook),
        "## RunResult is",
        "",
        *(_check(c) for c in runbook.goal.checks),
        "",
        f"{runbook.goal.consecutive} times in a row. The first step that leads there ends the run.",
        "",
        *_standing(runbook),
        *_params(runbook),
        "## Steps",
        "",
    ]
    for number, step in enumerate(runbook.steps, 1):
        action = actions[step.action]
        rows += _step(number, step, action, (by_hand or {}).get(step.id, action.command))
    while not rows[-1]:
        rows.pop()
    return lines(*rows, "")


def _purpose(runbook: Runbook) -> list[str]:
    asked = {"topic": "a topic that a person names", "cluster": "the cluster, when a person asks"}
    return list(filter(None, (", ".join(runbook.codes), asked.get(runbook.request, ""))))


def _limits(runbook: Runbook) -> str:
    caps = runbook.caps
    parts = [f"{caps.max_partitions} partitions a plan"]
    parts += [f"{caps.max_brokers} brokers that get replicas"] if caps.max_brokers is not None else []
    parts += [f"{amount(caps.max_bytes_moved)} to copy"] if caps.max_bytes_moved is not None else []
    parts += [f"{caps.max_concurrent_moves} moves at once"] if caps.max_concurrent_moves is not None else []
    parts += [f"{caps.max_duration:g} s a run"] if caps.max_duration is not None else []
    parts += [f"{caps.max_unclean} unclean elections"] if caps.max_unclean else []
    return f"At most {', '.join(parts)}; {caps.cooldown:g} s between two runs for one finding."


def _placement(placement: Placement | None) -> list[str]:
    if placement is None:
        return []
    inside = ", ".join(f"{k}={v}" for k, v in placement.args.items())
    text = f"{_PLACEMENTS.get(placement.kind, placement.kind)}{f' ({inside})' if inside else ''}"
    return ["## Where replicas will lie", "", f"{text}. Computed once, while planning, and literal in the plan.", ""]


def _invariants(runbook: Runbook) -> list[str]:
    if not runbook.invariants:
        return []
    rows = [f"{_check(i.check)}; else {_BREACHES[i.on_breach]}" for i in runbook.invariants]
    return ["## All the while", "", *rows, ""]


def _standing(runbook: Runbook) -> list[str]:
    if not runbook.standing:
        return []
    return ["## Told until it holds", "", *(_check(c) for c in runbook.standing), ""]


def _step(number: int, step: StepTemplate, action: ActionWords, command: str) -> list[str]:
    gate = step.gate.word if step.gate is not None else action.floor
    lines = [
        f"### {number}. {step.id}   ({step.action}, gate {gate}, touches {action.risk})",
        "",
        f"{action.summary[0].upper()}{action.summary[1:]}.",
        "",
        f"- why: {step.why}",
        f"- undo: {action.undo}",
    ]
    lines += [f"- for each: {_loop(step.for_each)}"] if step.for_each else []
    lines += [f"- puts back what {step.from_step} found"] if step.from_step else []
    lines += [f"- {_PHASES[step.phase]}"] if step.phase in _PHASES else []
    lines += [f"- only when: {words(step.when)}"] if step.when else []
    lines += [f"- needs: {_words(c)}" for c in step.require]
    lines += [f"- not needed when: {_words(c)}" for c in step.unless]
    lines += [f"- proved by: {_words(c)}, within {_seconds(step.verify_timeout)}" for c in step.verify]
    lines += [f"- where it does not take: {_FAILURES[step.on_failure]}"]
    return [*lines, "- by hand:", "", *(f"      {line}" for line in command.splitlines()), ""]


_PHASES = {
    Phase.ALWAYS: "in every ending, also after a failure or Ctrl-C",
    Phase.AFTER_GOAL: "only once the goal is proved",
}
_BREACHES = {OnBreach.PAUSE: "the run pauses until it does", OnBreach.STOP: "the run stops"}
_PLACEMENTS = {
    "raise_rf": "Replicas are added over racks, to the brokers that hold least",
    "replace": "The places of brokers that are gone are taken by others",
    "spread": "Replicas that share a rack are spread over racks",
    "preferred": "Preferred leaders are evened out; no replica is moved",
    "given": "As a file says (--json-in FILE)",
}
_FAILURES = {
    OnFailure.NEXT: "the next step has its turn",
    OnFailure.CONTINUE: "this one is left, the others go on",
    OnFailure.STOP: "the run stops",
    OnFailure.ASK: "a person decides",
    OnFailure.ROLLBACK: "everything is taken back",
}


def _loop(loop: ForEach) -> str:
    text = loop.items
    if loop.batch:
        text += f", {loop.batch} at a time" + (f" after {loop.canary} alone" if loop.canary else "")
        text += f", {loop.pause:g} s between" if loop.pause else ""
    return text


def _seconds(value: RawValue) -> str:
    return f"{value:g} s" if isinstance(value, float) else str(value)


def _params(runbook: Runbook) -> Iterable[str]:
    if not runbook.params:
        return []
    rows = [f"- {name} ({p.kind.value}, {_default(p)}): {p.help}" for name, p in runbook.params.items()]
    return ["## Parameters (-p NAME=VALUE)", "", *rows, ""]


def _default(param: Param) -> str:
    match param.kind, param.default:
        case _, None:
            return "must be given"
        case ArgKind.DURATION, float() as seconds:
            return f"default {seconds:g} s"
        case ArgKind.RATE, int() as rate:
            return f"default {rate_words(rate)}"
        case ArgKind.BYTES, int() as size:
            return f"default {amount(size)}"
        case ArgKind.BOOL, value:
            return f"default {str(value).lower()}"
    return f"default {param.default}"


def _check(check: CheckTemplate) -> str:
    return f"- {_words(check)}"


def _words(check: CheckTemplate) -> str:
    inside = ", ".join(f"{k}={v}" for k, v in check.args.items())
    text = f"{check.check}({inside})"
    text += f", for each of {check.for_each.items}" if check.for_each else ""
    return text + (f", where {words(check.when)}" if check.when else "")
