"""Renders a runbook as a Markdown page: purpose, proof, and every step with why, gate, undo and manual commands.

If kfix itself is not available, the page serves as the checklist.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kfix.core.args import ArgKind, ArgValue, coerce
from kfix.core.harmless import Lines, lines
from kfix.core.snapshot.snapshot import Mode
from kfix.core.wording import known_size, rate_text, several
from kfix.heal.actions.base import Action
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.actions.registry import example
from kfix.heal.model.plan import OnBreach, OnFailure, Phase

if TYPE_CHECKING:
    from kfix.heal.model.runbook import CheckTemplate, Param, Placement, RawValue, Runbook, StepForEach, StepTemplate


def page(runbook: Runbook) -> Lines:
    """Returns the page, with manual commands that have the runbook's own arguments."""
    about = runbook.metadata
    modes = " or ".join(name for mode, name in _MODES.items() if mode in about.modes)
    rows = [
        f"# {runbook.id}",
        "",
        *runbook.about.splitlines(),
        "",
        f"For {' or '.join(_purpose(runbook))}, with {modes}; version {about.version}, by {about.owner}.",
        _limits(runbook),
        "",
        *_placement(runbook.placement),
        "## Preconditions",
        "",
        *(_check(c) for c in runbook.preconditions),
        "",
        *_invariants(runbook),
        "## Goal",
        "",
        *(_check(c) for c in runbook.goal.all),
        "",
        f"All checks must pass {several(runbook.goal.consecutive, 'time')} in a row. The run ends as soon as they do.",
        "",
        *_standing(runbook),
        *_params(runbook),
        "## Steps",
        "",
    ]
    for number, step in enumerate(runbook.steps, 1):
        rows += _step(number, step)
    while not rows[-1]:
        rows.pop()
    return lines(*rows, "")


def _purpose(runbook: Runbook) -> list[str]:
    asked = {"topic": "a topic, on request", "cluster": "the cluster, on request"}
    return list(filter(None, (", ".join(runbook.codes), asked.get(runbook.request, ""))))


def _limits(runbook: Runbook) -> str:
    caps = runbook.caps
    parts = [f"{several(caps.max_partitions, 'partition')} per plan"]
    parts += [f"{several(caps.max_brokers, 'broker')} that receive replicas"] if caps.max_brokers is not None else []
    parts += [f"{known_size(caps.max_bytes_moved)} to copy"] if caps.max_bytes_moved is not None else []
    parts += [f"{several(caps.max_concurrent_moves, 'move')} at once"] if caps.max_concurrent_moves is not None else []
    parts += [f"{caps.max_duration:g} s per run"] if caps.max_duration is not None else []
    parts += [several(caps.max_unclean, "unclean election")] if caps.max_unclean else []
    return f"Limits: {', '.join(parts)}; at least {caps.cooldown:g} s between two runs for one finding."


def _placement(placement: Placement | None) -> list[str]:
    if placement is None:
        return []
    inside = ", ".join(f"{k}={v}" for k, v in placement.args.items())
    text = f"{_PLACEMENTS.get(placement.kind, placement.kind)}{f' ({inside})' if inside else ''}"
    return ["## Placement", "", f"{text}. It is computed once while planning, and literal in the plan.", ""]


def _invariants(runbook: Runbook) -> list[str]:
    if not runbook.invariants:
        return []
    rows = [f"{_check(i)}; otherwise {_BREACHES[i.on_breach]}" for i in runbook.invariants]
    return ["## Invariants", "", *rows, ""]


def _standing(runbook: Runbook) -> list[str]:
    if not runbook.standing:
        return []
    return ["## Follow-up, reported until it passes", "", *(_check(c) for c in runbook.standing), ""]


def _step(number: int, step: StepTemplate) -> list[str]:
    action = ACTIONS[step.action]
    gate = (action.gate_floor if step.gate is None else step.gate).word
    args = example(action).with_(**_known(action, step))
    lines = [
        f"### {number}. {step.id}   ({step.action}, gate {gate}, touches {action.risk.value})",
        "",
        f"{action.summary[0].upper()}{action.summary[1:]}.",
        "",
        f"- why: {step.why}",
        f"- undo: {action.inverse(example(action)).text}",
    ]
    lines += [f"- for each: {_loop(step.for_each)}"] if step.for_each else []
    lines += [f"- restores what {step.from_step} found"] if step.from_step else []
    lines += [f"- {_PHASES[step.phase]}"] if step.phase in _PHASES else []
    lines += [f"- only when: {step.when.words}"] if step.when else []
    lines += [f"- needs: {_words(c)}" for c in step.require]
    lines += [f"- not needed when: {_words(c)}" for c in step.unless]
    lines += [f"- verified by: {_words(c)}, within {_seconds(step.verify_timeout)}" for c in step.verify]
    lines += [f"- on failure: {_FAILURES[step.on_failure]}"]
    return [*lines, "- by hand:", "", *(f"      {line}" for line in action.preview(args).command.splitlines()), ""]


def _known(action: Action, step: StepTemplate) -> dict[str, ArgValue]:
    """Returns the step's own arguments. References are unknown without a finding; an instruction may show them."""
    known: dict[str, ArgValue] = {}
    for name, value in step.with_.items():
        instruction = not action.changes and action.kinds[name] is ArgKind.TEXT
        if instruction or "${" not in str(value):
            known[name] = coerce(action.kinds[name], value)
    return known


_MODES = {Mode.ZOOKEEPER: "ZooKeeper", Mode.KRAFT: "KRaft"}
_PHASES = {
    Phase.ALWAYS: "runs at every end of the run, also after a failure or Ctrl-C",
    Phase.AFTER_GOAL: "runs only after the goal is proved",
}
_BREACHES = {OnBreach.PAUSE: "the run pauses until it does", OnBreach.STOP: "the run stops"}
_PLACEMENTS = {
    "raise_rf": "Replicas are added across racks, on the brokers that hold the least",
    "replace": "Replicas of brokers that are gone are assigned to other brokers",
    "spread": "Replicas that share a rack are spread across racks",
    "preferred": "Preferred leaders are balanced; no replica is moved",
    "given": "From a file (--json-in FILE)",
}
_FAILURES = {
    OnFailure.NEXT: "the next step is tried",
    OnFailure.CONTINUE: "this item is skipped, the others continue",
    OnFailure.STOP: "the run stops",
    OnFailure.ASK: "the operator decides",
    OnFailure.ROLLBACK: "the run is rolled back",
}


def _loop(loop: StepForEach) -> str:
    text = loop.items
    if loop.batch:
        text += f", {loop.batch} at a time" + (f" after a canary of {loop.canary}" if loop.canary else "")
        text += f", with {loop.pause:g} s between batches" if loop.pause else ""
    return text


def _seconds(value: RawValue) -> str:
    return f"{value:g} s" if isinstance(value, float) else str(value)


def _params(runbook: Runbook) -> Iterable[str]:
    if not runbook.params:
        return []
    rows = [f"- {name} ({p.type.value}, {_default(p)}): {p.help}" for name, p in runbook.params.items()]
    return ["## Parameters (-p NAME=VALUE)", "", *rows, ""]


def _default(param: Param) -> str:
    default = param.read(param.default)
    match param.type, default:
        case _, None:
            return "required"
        case ArgKind.DURATION, float() as seconds:
            return f"default {seconds:g} s"
        case ArgKind.RATE, int() as rate:
            return f"default {rate_text(rate)}"
        case ArgKind.BYTES, int() as size:
            return f"default {known_size(size)}"
        case ArgKind.BOOL, value:
            return f"default {str(value).lower()}"
    return f"default {default}"


def _check(check: CheckTemplate) -> str:
    return f"- {_words(check)}"


def _words(check: CheckTemplate) -> str:
    inside = ", ".join(f"{k}={v}" for k, v in check.args.items())
    text = f"{check.check}({inside})"
    text += f", for each of {check.for_each.items}" if check.for_each else ""
    return text + (f", where {check.when.words}" if check.when else "")
