"""The screens of gates, as plain text. `RunDir.keep_screen` keeps the same text beside the journal."""

from collections.abc import Mapping
from datetime import UTC, datetime

from kfix.core.diagnosis.finding import REQUEST
from kfix.core.harmless import Lines, lines
from kfix.core.snapshot.snapshot import Mode
from kfix.core.wording import several, some
from kfix.heal.gate.gates import Screen, in_force, lowest_gate, sure_phrases
from kfix.heal.model.facts import Fact, fact_lines, show_value
from kfix.heal.model.plan import Gate, OnFailure, Plan, PlannedStep, Risk, arg_words
from kfix.heal.probes.registry import ALL as PROBES

_SHOWN = 8
#: docs/adr/023
ALONE = "of this host only, as KRaft has none: say yes only if no other kfix changes this cluster"


def screen(
    plan: Plan, number: int, step_and_gate: tuple[PlannedStep, Gate], now: Mapping[str, Fact], changed: tuple[str, ...]
) -> Screen:
    """Returns the screen for a step. `step_and_gate` holds the step and the gate in force in this run."""
    step, level = step_and_gate
    of_plan = level is Gate.PLAN
    text = plan_page(plan, number, changed) if of_plan else _step_text(plan, number, step, now, changed)
    details = lines(*(_plan_details(plan, number) if of_plan else []), *_details(step, now))
    return Screen(text=text, details=details, why=_why(plan, step, level))


def plan_page(plan: Plan, number: int = 1, changed: tuple[str, ...] = (), *, apart: bool = False) -> Lines:
    """Returns the plan on one page, from step `number` on: what a person approves. `apart`: each change asks by itself.

    Cause, undo, proof, facts and commands are in the details of the gate; `kfix runbook plan` prints all of them.
    """
    steps = _from(plan, number)
    expires = datetime.fromtimestamp(plan.expires_at, UTC).strftime("%H:%M UTC")
    final = [s.undo for _, s in steps if not s.reversible and not s.undo.startswith("none")]
    return lines(
        f"PLAN {plan.short_id}   {plan.runbook.id} on {plan.cluster.name}, expires {expires}",
        plan.finding.summary
        if plan.finding.code == REQUEST
        else f"finding   {plan.finding.summary} ({plan.finding.code})",
        _list("goal", _some(_goals(plan))),
        f"risk      {plan.impact.brief(plan.widest_risk, ' if every step is needed')}",
        _list("steps", _some([f"{n} {s.id} ({_asked(plan, n, apart=apart)}): {s.what}" for n, s in steps])),
        *([_list("undo", _some(list(dict.fromkeys(final))))] if final else []),
        *([_list("warning", _some(list(plan.warnings)))] if plan.warnings else []),
        *(_stopping(plan, changed) if changed else ["nothing has changed yet"]),
    )


def _from(plan: Plan, number: int) -> list[tuple[int, PlannedStep]]:
    return [(n, s) for n, s in enumerate(plan.steps, 1) if n >= number]


def _goals(plan: Plan) -> list[str]:
    """Returns the checks of the goal, the same ones on one line: `has leader, views agree: orders-1, orders-2`.

    What the plan froze for the comparison, such as every partition as it was, is in the details.
    """
    subjects: dict[str, list[str]] = {}
    for call in plan.goal.checks:
        known = PROBES.get(call.check)
        args = call.args if known is None else call.args.only(*known.params)
        subjects.setdefault(" ".join(map(arg_words, args.values())), []).append(call.check.replace("_", " "))
    alike: dict[str, list[str]] = {}
    for subject, checks in subjects.items():
        alike.setdefault(", ".join(checks), []).append(subject)
    return [f"{checks}: {some(names)}".removesuffix(": ") for checks, names in alike.items()]


def _plan_details(plan: Plan, number: int) -> list[str]:
    goal = plan.goal
    proof = f"{several(goal.consecutive, 'successful check')} in a row within {goal.timeout:g} s of"
    return [
        f"cause     {plan.finding.cause}",
        f"at worst  {plan.impact.words(plan.widest_risk, ' if every step is needed')}",
        _list("undo", _some(list(dict.fromkeys(s.undo for _, s in _from(plan, number))))),
        _list("proof", [proof, *_some([str(call) for call in goal.checks])]),
    ]


def _asked(plan: Plan, number: int, *, apart: bool) -> str:
    """Returns when a step is done and which answer covers it, such as `only if 1 fails; asks again`."""
    step = plan.steps[number - 1]
    before = plan.steps[number - 2] if number > 1 else None
    if_needed = f"only if {number - 1} fails; " if before is not None and before.on_failure is OnFailure.NEXT else ""
    first = ", before any change" if number in {n for n, _ in sure_phrases(plan)} else ""
    answers = {
        Gate.AUTO: "changes nothing",
        Gate.PLAN: "this answer",
        Gate.STEP: "asks again",
        Gate.TYPED: f"asks for a phrase{first}",
        Gate.TWO_PERSON: f"asks for a phrase{first}, signed by a second person",
    }
    wide = "touches the whole cluster; " if step.risk is Risk.WHOLE_CLUSTER else ""
    return if_needed + wide + answers[in_force(step, lowest_gate(apart=apart))]


def _step_text(plan: Plan, number: int, step: PlannedStep, now: Mapping[str, Fact], changed: tuple[str, ...]) -> str:
    return lines(
        f"STEP {number}/{len(plan.steps)}   {step.id}   {step.action}   {step.target}   on {plan.cluster.name}",
        f"what      {step.what}",
        f"why       {step.why}",
        *([f"lock      {ALONE}"] if plan.cluster.mode is Mode.KRAFT else []),
        _list("now", fact_lines(now.values())),
        f"touches   {step.risk.value}",
        f"at worst  {step.estimate.words(step.risk)}",
        f"undo      {step.undo}",
        *_stopping(plan, changed),
    )


def _stopping(plan: Plan, changed: tuple[str, ...]) -> list[str]:
    left = "keeps the changes made so far and skips the remaining steps" if changed else "leaves the finding unresolved"
    if changed and plan.restoring:
        left += "; throttles are removed, and copies in progress continue"
    return [_list("done", _some(list(changed)) or ["nothing"]), f"stopping  {left}"]


def _list(label: str, rows: list[str]) -> Lines:
    first, *more = rows or [""]
    return lines(f"{label:<10}{first}", *(f"{'':<10}{row}" for row in more))


def _some(rows: list[str]) -> list[str]:
    """Shortens a list so that a plan for fifty partitions fits a screen. The plan and the journal list all."""
    return rows if len(rows) <= _SHOWN else [*rows[: _SHOWN - 1], f"and {len(rows) - _SHOWN + 1} more"]


def _details(step: PlannedStep, now: Mapping[str, Fact]) -> list[str]:
    args = ", ".join(f"{k}={show_value(v) if not isinstance(v, float) else v}" for k, v in step.args.items())
    facts = [f"  {key} = {show_value(fact.value)}   ({fact.source})" for key, fact in now.items()]
    return [
        f"action    {step.action}",
        f"args      {args}",
        "facts, read again just now",
        *facts,
        "required before the change",
        *(f"  {call}" for call in step.require),
        f"verified within {step.verify_timeout:g} s by",
        *(f"  {call}" for call in step.verify),
        "by hand",
        *(f"  {line}" for line in step.command.splitlines()),
    ]


def _why(plan: Plan, step: PlannedStep, level: Gate) -> str:
    reasons = {
        Gate.PLAN: "The plan changes the cluster. One answer covers all steps of the level 'plan'; others ask again.",
        Gate.STEP: (
            f"{step.action} has its own gate: it touches {step.risk.value}, or depends on facts that may have changed."
        ),
        Gate.TYPED: (
            "The phrase names the cluster and a fact that was read just now, so that it cannot be typed from habit or "
            "by a script made for another plan. Type it here, or pass it with --ack while the plan is at most 5 "
            "minutes old."
        ),
        Gate.TWO_PERSON: (
            "The site's policy requires a second person: the plan must be countersigned, and the phrase typed."
        ),
        Gate.AUTO: "This step changes nothing.",
    }
    return lines(reasons[level], plan.title, step.why)
