"""Builds the steps of a plan from actions and literal arguments, and lists them in the order of execution."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

from kfix.core.args import Args
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.facts import about
from kfix.heal.model.plan import CheckCall, Gate, Phase, Plan, PlannedStep
from kfix.heal.probes.registry import ALL as PROBES

Batch = tuple[tuple[int, PlannedStep], ...]


def walk(plan: Plan, phase: Phase) -> Iterator[Batch]:
    """Yields the steps of a phase: a batch together, other steps one by one, numbered as in the whole plan."""
    return (batch for batch in batches(plan) if batch[0][1].phase is phase)


def batches(plan: Plan) -> tuple[Batch, ...]:
    numbered = enumerate(plan.steps, 1)
    groups = groupby(numbered, key=lambda item: (item[1].phase, item[1].batch or -item[0]))
    return tuple(tuple(group) for _, group in groups)


def partition_counts(phase: Phase, action: str, args: Args) -> tuple[str, ...]:
    """Returns the key of the fact "number of partitions" of the step's topic: adding partitions makes a plan stale.

    Restoring steps do not depend on it.
    """
    if phase is Phase.ALWAYS or not ACTIONS[action].changes:
        return ()
    if "partition" in args:
        topic = args.tp().topic
    elif "topic" in args:
        topic = args.text("topic")
    elif args.get("kind") == ResourceKind.TOPIC:
        topic = args.text("name")
    else:
        return ()
    return about(TopicPartition(topic, 0), "partition_count")


def described(action_name: str, args: Args, cluster: str) -> dict[str, Any]:
    """Returns the fields of a step that follow from its action and arguments: the texts people approve, the inverse."""
    action = ACTIONS[action_name]
    preview, inverse = action.preview(args), action.inverse(args)
    return {
        "what": preview.what,
        "target": preview.target,
        "phrase": f"{cluster}/{preview.target}/{preview.live}",
        "command": preview.command,
        "estimate": preview.estimate,
        "risk": action.risk_for(args),
        "reversible": inverse.reversible,
        "undo": inverse.text,
        "inverse": inverse.undo,
    }


def build_step(
    name: str,
    action_name: str,
    args: Args,
    cluster: str,
    *,
    gate: Gate = Gate.AUTO,
    require: tuple[CheckCall, ...] = (),
    unless: tuple[CheckCall, ...] = (),
    verify: tuple[CheckCall, ...] = (),
    phase: Phase = Phase.MAIN,
    **more: Any,
) -> PlannedStep:
    """Builds the step with the id `name`. `args` are complete and literal; `more` are further fields of the step.

    `gate` is raised to the action's floor, never lowered. Without checks in `verify`, the action's own verify it.
    """
    action = ACTIONS[action_name]
    require = tuple(dict.fromkeys((*action.guards(args), *require)))
    verify = verify or action.proves(args)
    reads = (key for call in require for key in PROBES[call.check].reads(call.args))
    return PlannedStep(
        id=name,
        action=action_name,
        args=args,
        gate=max(gate, action.gate_for(args)),
        pre=tuple(dict.fromkeys((*action.reads(args), *reads, *partition_counts(phase, action_name, args)))),
        require=require,
        unless=unless or verify,
        verify=verify,
        phase=phase,
        **described(action_name, args, cluster),
        **more,
    )


def joined(steps: Iterable[PlannedStep]) -> list[PlannedStep]:
    """Returns the steps of one template: what a person does once is one step, which all of its checks verify."""
    found: list[PlannedStep] = []
    for step in steps:
        for number, other in enumerate(found):
            args = ACTIONS[step.action].joined(other.args, step.args)
            if args is not None:
                found[number] = _both(other, step, args)
                break
        else:
            found.append(step)
    return found


def _both(one: PlannedStep, other: PlannedStep, args: Args) -> PlannedStep:
    preview = ACTIONS[one.action].preview(args)
    return replace(
        one,
        args=args,
        what=preview.what,
        command=preview.command,
        pre=tuple(dict.fromkeys((*one.pre, *other.pre))),
        require=tuple(dict.fromkeys((*one.require, *other.require))),
        unless=tuple(dict.fromkeys((*one.unless, *other.unless))),
        verify=tuple(dict.fromkeys((*one.verify, *other.verify))),
    )


def explain(plan: Plan) -> tuple[tuple[int, PlannedStep], ...]:
    """Returns (number, step) in the order of execution."""
    phases = (Phase.MAIN, Phase.ALWAYS, Phase.AFTER_GOAL)
    return tuple(item for phase in phases for batch in walk(plan, phase) for item in batch)
