"""What fields mean together: gate floors, names of actions and probes, phases, tests. All mistakes at once.

Runs on the plain data, not on the parsed model, so that a mistake in the shape never hides a mistake in the meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kfix.actions.base import Action
from kfix.actions.registry import ALL as ACTIONS
from kfix.documents.problems import Path, Problem, did_you_mean, unknown
from kfix.model.plan.plan import Gate
from kfix.probes.registry import ALL as PROBES
from kfix.runbook.file.lint_values import (
    KnownNames,
    check_args,
    check_for_each,
    check_params,
    check_reference,
    check_when,
    loop_names,
    plain,
)
from kfix.runbook.file.placements import KINDS
from kfix.runbook.file.references import names_in

_CHECK_FIELDS = frozenset({"check", "when", "for_each"})


def lint(data: object, codes: frozenset[str] = frozenset()) -> Iterator[Problem]:
    """`codes` are the findings that exist; none given: they are not checked."""
    if not isinstance(data, dict):
        return
    params = plain(data.get("params"))
    known = KnownNames(tuple(params))
    yield from check_params(params)
    if isinstance(data.get("on"), dict):
        yield from _on(data["on"], params, codes)
    yield from _placement(data, known)
    for name in names_in(data.get("title")):
        yield from check_reference(name, ("title",), known)
    for where in (("preconditions",), ("invariants",), ("goal", "all"), ("standing",)):
        for path, check in _items(_at(data, where), where):
            yield from _check(check, path, known, loop_allowed=True)
    for part in ("timeout", "interval"):
        for name in names_in(plain(data.get("goal")).get(part)):
            yield from check_reference(name, ("goal", part), known)
    yield from _steps(data.get("steps"), known)


def _on(on: dict[str, Any], params: dict[str, Any], codes: frozenset[str]) -> Iterator[Problem]:
    wanted = on.get("finding")
    for i, code in enumerate(wanted if isinstance(wanted, list) else []):
        if codes and isinstance(code, str) and code not in codes:
            text = f"unknown finding {code!r}" + (did_you_mean(code, codes) or "; kfix explain lists them")
            yield Problem(("on", "finding", i), text)
    if not wanted and not on.get("request"):
        yield Problem(("on",), "on needs a finding, or a request (topic, cluster)")
    if on.get("request") == "topic" and plain(params.get("topic")).get("type") != "topic":
        yield Problem(("on", "request"), "a request for a topic needs the parameter 'topic' of the type topic")


def _placement(data: dict[str, Any], known: KnownNames) -> Iterator[Problem]:
    placement = plain(data.get("placement"))
    kind = placement.get("kind")
    if not isinstance(kind, str):
        return
    if kind not in KINDS:
        yield Problem(("placement", "kind"), unknown("placement", kind, KINDS))
        return
    given = {k: v for k, v in placement.items() if k != "kind"}
    yield from check_args(f"placement {kind}", given, ("placement",), (KINDS[kind].params, KINDS[kind].optional), known)


def _steps(steps: object, known: KnownNames) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for path, step in _items(steps, ("steps",)):
        name = step.get("id")
        if isinstance(name, str) and name in seen:
            yield Problem((*path, "id"), f"the step id {name!r} is already used by step {list(seen).index(name) + 1}")
        yield from _step(step, path, known)
        yield from _from_step(step, path, seen)
        if isinstance(name, str):
            seen.setdefault(name, str(step.get("action")))
    for path, step in _items(steps, ("steps",)):
        if step.get("action") in {"throttle.rate", "throttle.replicas"} and not _restored(step.get("id"), steps):
            text = f"nothing takes this throttle away: add a step throttle.restore with from_step: {step.get('id')}"
            yield Problem((*path, "action"), text)


def _restored(name: object, steps: object) -> bool:
    return any(
        step.get("from_step") == name and step.get("always") is True and step.get("action") == "throttle.restore"
        for _, step in _items(steps, ())
    )


def _from_step(step: dict[str, Any], path: Path, seen: dict[str, str]) -> Iterator[Problem]:
    source = step.get("from_step")
    if source is None:
        return
    if source not in seen:
        yield Problem((*path, "from_step"), f"there is no step {source!r} before this one")
    if step.get("with") or step.get("for_each"):
        yield Problem((*path, "from_step"), "from_step says all: it goes without 'with' and 'for_each'")


def _step(step: dict[str, Any], path: Path, known: KnownNames) -> Iterator[Problem]:
    loops = loop_names(step)
    inside = known.inside(loops)
    yield from check_for_each(step, path, known)
    yield from check_when(step.get("when"), (*path, "when"), known)
    action = step.get("action")
    if isinstance(action, str):
        if action in ACTIONS:
            yield from _action(ACTIONS[action], step, path, inside)
        else:
            yield Problem((*path, "action"), unknown("action", action, ACTIONS))
    if step.get("always") is True and step.get("after_goal") is True:
        yield Problem((*path, "after_goal"), "a step is for always or for after the goal, not for both")
    for part in ("why", "verify_timeout"):
        for name in names_in(step.get(part)):
            yield from check_reference(name, (*path, part), inside)
    for part in ("require", "unless", "verify"):
        for check_path, check in _items(step.get(part), (*path, part)):
            yield from _check(check, check_path, inside, loop_allowed=not loops)


def _action(action: Action, step: dict[str, Any], path: Path, known: KnownNames) -> Iterator[Problem]:
    gate = step.get("gate")
    if isinstance(gate, str) and gate.upper() in Gate.__members__ and Gate[gate.upper()] < action.gate_floor:
        text = f"gate {gate!r} is below the floor {action.gate_floor.word!r} of action {action.name}"
        yield Problem((*path, "gate"), text)
    if not step.get("verify") and not action.proves_itself:
        yield Problem(
            (*path, "verify"), f"nothing proves this step: {action.name} needs at least one check in 'verify'"
        )
    if step.get("always") is True and action.gate_floor is not Gate.AUTO:
        yield Problem((*path, "always"), f"{action.name} asks at a gate; a step that always runs can ask nobody")
    if action.name == "throttle.restore" and (step.get("from_step") is None or step.get("always") is not True):
        text = "throttle.restore asks nobody: it only puts back, always, what a step found (from_step, always: true)"
        yield Problem((*path, "action"), text)
    if step.get("from_step") is None:
        yield from check_args(
            f"action {action.name}", plain(step.get("with")), (*path, "with"), (action.params, action.optional), known
        )


def _check(check: dict[str, Any], path: Path, known: KnownNames, *, loop_allowed: bool = False) -> Iterator[Problem]:
    if "for_each" in check and not loop_allowed:
        text = "for_each belongs to the step here: its checks are asked for each item anyway"
        yield Problem((*path, "for_each"), text, at_key=True)
    yield from check_for_each(check, path, known)
    yield from check_when(check.get("when"), (*path, "when"), known.inside(loop_names(check)))
    name = check.get("check")
    if not isinstance(name, str):
        return
    if name not in PROBES:
        yield Problem((*path, "check"), unknown("check", name, PROBES))
        return
    probe = PROBES[name]
    fields = _CHECK_FIELDS | {"on_breach"} if path[0] == "invariants" else _CHECK_FIELDS
    given = {k: v for k, v in check.items() if k not in fields}
    yield from check_args(f"check {name}", given, path, (probe.params, probe.optional), known.inside(loop_names(check)))


def _items(value: object, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for i, item in enumerate(value if isinstance(value, list) else []):
        if isinstance(item, dict):
            yield (*path, i), item


def _at(data: dict[str, Any], path: tuple[str, ...]) -> object:
    found: object = data
    for key in path:
        found = plain(found).get(key)
    return found
