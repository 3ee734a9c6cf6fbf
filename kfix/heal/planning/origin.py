"""Compares a plan with its runbook: a forged plan may have a valid hash, and fewer conditions than kfix gives it.

`plan.fidelity` compares arguments that come from the cluster with the cluster. Here each check, limit and step of the
plan must be one of the runbook, and each one of the runbook that no condition excludes must be in the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Final

from kfix.core.errors import RefusedError
from kfix.core.harmless import lines
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.plan import Caps, CheckCall, Gate, OnFailure, Plan, PlannedStep
from kfix.heal.planning.values import Names, decide, known_of
from kfix.heal.probes.registry import ALL as PROBES
from kfix.heal.runbook.references import source_of

if TYPE_CHECKING:
    from kfix.heal.model.runbook import CheckTemplate, Condition, Runbook, StepTemplate

_REFERENCE: Final = "${"


def refuse_forged(plan: Plan, runbook: Runbook) -> None:
    """Raises RefusedError if the runbook would not make such a plan, or has changed since it made the plan."""
    hint = f"make a new plan: kfix runbook plan {plan.runbook.id}"
    if plan.runbook.sha256 != runbook.sha256:
        text = (
            f"plan {plan.short_id}: the runbook {runbook.id} of {runbook.origin or 'kfix'} is not the one that made it"
        )
        raise RefusedError(text, hint=f"name the folder of its runbook, --runbooks DIR, or {hint}")
    if problems := tuple(_problems(plan, runbook)):
        head = f"plan {plan.short_id} is not one of the runbook {runbook.id}:"
        raise RefusedError(lines(head, *problems, "nothing was changed"), hint=hint)


def _problems(plan: Plan, runbook: Runbook) -> Iterator[str]:
    yield from _limits(plan.caps, runbook.caps)
    for where, calls, templates in (
        ("preconditions", plan.preconditions, runbook.preconditions),
        ("goal", plan.goal.checks, runbook.goal.all),
        ("standing", plan.standing, runbook.standing),
        ("invariants", tuple(one.call for one in plan.invariants), runbook.invariants),
    ):
        yield from _checks(where, calls, templates, plan)
    if plan.goal.consecutive < runbook.goal.consecutive:
        yield f"goal: {plan.goal.consecutive} successful checks in a row, not {runbook.goal.consecutive}"
    breaches = {(one.check, one.on_breach) for one in runbook.invariants}
    if any((one.call.check, one.on_breach) not in breaches for one in plan.invariants):
        yield "invariants: on_breach differs"
    yield from _steps(plan, {template.id: template for template in runbook.steps})


def _limits(caps: Caps, own: Caps) -> Iterator[str]:
    """Yields the limits above the runbook's; a policy makes them stricter, never wider."""
    for name in (each.name for each in fields(Caps)):
        given, wanted = getattr(caps, name), getattr(own, name)
        wider = given < wanted if name == "cooldown" else wanted is not None and (given is None or given > wanted)
        if wider:
            yield f"limits: {name} is {given}, not {wanted}"


def _checks(where: str, calls: Iterable[CheckCall], templates: Sequence[CheckTemplate], plan: Plan) -> Iterator[str]:
    calls = tuple(calls)
    for call in calls:
        if not any(_made_by(call, template) for template in templates):
            yield f"{where}: {call.check} is not one of the runbook"
    for template in templates:
        if sum(_made_by(call, template) for call in dict.fromkeys(calls)) < _least(template, plan):
            yield f"{where}: {template.check} is missing"


def _least(template: CheckTemplate, plan: Plan) -> int:
    """Returns the fewest checks a template makes; a condition inside a loop may exclude all of them."""
    if template.when is not None and template.for_each is None:
        known = known_of(plan.finding, plan.params)
        return int(_names(template.when) <= known.keys() and decide(template.when, known, template.check))
    if template.when is not None:
        return 0
    if template.for_each is None:
        return 1
    source = source_of(template.for_each.items)
    if source == "finding.partitions":
        return len(plan.finding.partitions)
    return 0 if source.startswith(("placement.", "logged.")) else 1


def _names(when: Condition) -> set[str]:
    return set().union(*map(_names, when.parts)) if when.parts else {str(when.fact)}


def _made_by(call: CheckCall, template: CheckTemplate) -> bool:
    if call.check != template.check:
        return False
    probe = PROBES[template.check]
    literal = {name: value for name, value in template.args.items() if _REFERENCE not in str(value)}
    names = Names("", "", {})
    wanted = names.args(literal, {**probe.params, **probe.optional}, template.check)
    return all(call.args.get(name) == value for name, value in wanted.items())


def _steps(plan: Plan, templates: dict[str, StepTemplate]) -> Iterator[str]:
    for step in plan.steps:
        template = templates.get(_name(step))
        if template is None:
            yield f"step {step.id}: is not one of the runbook"
        else:
            yield from (f"step {step.id}: {problem}" for problem in _step(step, template, plan))
    for template in templates.values():
        made = [step for step in plan.steps if _name(step) == template.from_step and step.inverse is not None]
        if template.from_step and len(made) != sum(_name(step) == template.id for step in plan.steps):
            yield f"step {template.id}: does not restore each of {template.from_step}"


def _name(step: PlannedStep) -> str:
    return step.id.partition(":")[0]


def _step(step: PlannedStep, template: StepTemplate, plan: Plan) -> Iterator[str]:
    if not template.from_step and step.action != template.action:
        yield f"does {step.action}, not {template.action}"
    if step.gate < (template.gate or Gate.AUTO):
        yield f"gate {step.gate.word} is below {(template.gate or Gate.AUTO).word}"
    if step.phase is not template.phase:
        yield f"runs in {step.phase.value}, not in {template.phase.value}"
    allowed = {OnFailure.CONTINUE} if template.from_step else {template.on_failure, OnFailure.STOP}
    if step.on_failure not in allowed:
        yield f"on_failure is {step.on_failure.value}"
    if template.verify:
        yield from _checks("verify", step.verify, template.verify, plan)
    elif step.verify != ACTIONS[step.action].proves(step.args):
        yield "verify: does not prove the action"
    if step.unless != step.verify:
        yield from _checks("unless", step.unless, template.unless, plan)
    guards = ACTIONS[step.action].guards(step.args)
    own = [
        call for call in step.require if call not in guards or any(_made_by(call, each) for each in template.require)
    ]
    yield from _checks("require", own, template.require, plan)
