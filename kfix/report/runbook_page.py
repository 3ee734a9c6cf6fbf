"""A runbook as a page for people: what for, how it is proved, every step with why, gate, undo and the way by hand.

On the day kfix itself is not at hand the page is the checklist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kfix.model.runbook import CheckTemplate, Runbook, StepTemplate


@dataclass(frozen=True, slots=True)
class ActionWords:
    """What the page says of an action; the caller takes it from the registry."""

    summary: str
    risk: str
    floor: str
    undo: str
    command: str


def page(runbook: Runbook, actions: Mapping[str, ActionWords]) -> str:
    modes = ", ".join(sorted(mode.value for mode in runbook.modes))
    cooldown = runbook.caps.cooldown
    lines = [
        f"# {runbook.id}",
        "",
        runbook.about,
        "",
        f"For {', '.join(runbook.codes)} on {modes} clusters; version {runbook.version}, by {runbook.owner}.",
        f"At most {runbook.caps.max_partitions} partitions a plan; {cooldown:g} s between two runs for one finding.",
        "",
        "## Before anything",
        "",
        *(_check(c) for c in runbook.preconditions),
        "",
        "## Healed is",
        "",
        *(_check(c) for c in runbook.goal.checks),
        "",
        f"{runbook.goal.consecutive} times in a row. The first step that leads there ends the run.",
        "",
        *_params(runbook),
        "## Steps",
        "",
    ]
    for number, step in enumerate(runbook.steps, 1):
        lines += _step(number, step, actions[step.action])
    return "\n".join(lines).rstrip() + "\n"


def _step(number: int, step: StepTemplate, action: ActionWords) -> list[str]:
    gate = step.gate.word if step.gate is not None else action.floor
    lines = [
        f"### {number}. {step.id}   ({step.action}, gate {gate}, touches {action.risk})",
        "",
        f"{action.summary[0].upper()}{action.summary[1:]}.",
        "",
        f"- why: {step.why}",
        f"- undo: {action.undo}",
    ]
    lines += [f"- for each: {step.for_each.items}"] if step.for_each else []
    lines += [f"- only when: {step.when.fact} {step.when.op} {step.when.value}"] if step.when else []
    lines += [f"- needs: {_words(c)}" for c in step.require]
    lines += [f"- not needed when: {_words(c)}" for c in step.unless]
    lines += [f"- proved by: {_words(c)}, within {step.verify_timeout:g} s" for c in step.verify]
    return [*lines, "- by hand:", "", *(f"      {line}" for line in action.command.splitlines()), ""]


def _params(runbook: Runbook) -> Iterable[str]:
    if not runbook.params:
        return []
    rows = [f"- {name} ({p.kind.value}, default {p.default}): {p.help}" for name, p in runbook.params.items()]
    return ["## Parameters (-p NAME=VALUE)", "", *rows, ""]


def _check(check: CheckTemplate) -> str:
    return f"- {_words(check)}"


def _words(check: CheckTemplate) -> str:
    inside = ", ".join(f"{k}={v}" for k, v in check.args.items())
    words = f"{check.check}({inside})"
    words += f", for each of {check.for_each.items}" if check.for_each else ""
    return words + (f", where {check.when.fact} {check.when.op} {check.when.value}" if check.when else "")
