"""Finds every mistake in the meaning of a runbook at once: gate floors, names, phases, arguments, references, loops.

It runs on the plain data, not on the parsed model, so that a mistake in the shape never hides one in the meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kfix.core.args import ArgKind, coerce
from kfix.core.documents.problems import Path, Problem, did_you_mean, unknown
from kfix.heal.actions.base import Action
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.plan import Gate
from kfix.heal.model.runbook import OPERATORS, TOGETHER
from kfix.heal.probes.registry import ALL as PROBES
from kfix.heal.runbook.placements import KINDS
from kfix.heal.runbook.references import ITEMS, PARTITIONS, names_in, source_of

_CHECK_FIELDS = frozenset({"check", "when", "for_each"})


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Names that may be referred to: parameters, and within a loop its item or the item's parts."""

    params: tuple[str, ...]
    loops: tuple[str, ...] = ()

    def inside(self, loops: tuple[str, ...]) -> KnownNames:
        return replace(self, loops=(*self.loops, *loops))


#: {action: the one that takes it back at every end of a run}.
_RESTORED_BY = {
    "compaction.hasten": "compaction.restore",
    "retention.hold": "retention.restore",
    "throttle.rate": "throttle.restore",
    "throttle.replicas": "throttle.restore",
}


def lint(data: object, codes: frozenset[str] = frozenset()) -> Iterator[Problem]:
    """Yields the mistakes. `codes` are the existing findings; without any they are not checked."""
    if not isinstance(data, dict):
        return
    params = _plain(data.get("params"))
    known = KnownNames(tuple(params))
    yield from _params(params)
    if isinstance(data.get("on"), dict):
        yield from _on(data["on"], params, codes)
    yield from _placement(data, known)
    for name in names_in(data.get("title")):
        yield from _reference(name, ("title",), known)
    for where in (("preconditions",), ("invariants",), ("goal", "all"), ("standing",)):
        for path, check in _items(_at(data, where), where):
            yield from _check(check, path, known, loop_allowed=True)
    for part in ("timeout", "interval"):
        for name in names_in(_plain(data.get("goal")).get(part)):
            yield from _reference(name, ("goal", part), known)
    yield from _steps(data.get("steps"), known)


def _on(on: dict[str, Any], params: dict[str, Any], codes: frozenset[str]) -> Iterator[Problem]:
    wanted = on.get("finding")
    for i, code in enumerate(wanted if isinstance(wanted, list) else []):
        if codes and isinstance(code, str) and code not in codes:
            text = f"unknown finding {code!r}" + (did_you_mean(code, codes) or "; kfix explain lists them")
            yield Problem(("on", "finding", i), text)
    if not wanted and not on.get("request"):
        yield Problem(("on",), "on needs a finding, or a request (topic, cluster)")
    if on.get("request") == "topic" and _plain(params.get("topic")).get("type") != "topic":
        yield Problem(("on", "request"), "a request for a topic needs the parameter 'topic' of the type topic")


def _placement(data: dict[str, Any], known: KnownNames) -> Iterator[Problem]:
    placement = _plain(data.get("placement"))
    kind = placement.get("kind")
    if not isinstance(kind, str):
        return
    if kind not in KINDS:
        yield Problem(("placement", "kind"), unknown("placement", kind, KINDS))
        return
    given = {k: v for k, v in placement.items() if k != "kind"}
    yield from _args(f"placement {kind}", given, ("placement",), (KINDS[kind].params, KINDS[kind].optional), known)


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
        back = _RESTORED_BY.get(str(step.get("action")))
        if back is not None and not _restored(step.get("id"), back, steps):
            what = "this throttle" if back == "throttle.restore" else "these settings"
            text = f"nothing takes {what} away: add a step {back} with from_step: {step.get('id')}"
            yield Problem((*path, "action"), text)


def _restored(name: object, back: str, steps: object) -> bool:
    return any(
        step.get("from_step") == name and step.get("always") is True and step.get("action") == back
        for _, step in _items(steps, ())
    )


def _from_step(step: dict[str, Any], path: Path, seen: dict[str, str]) -> Iterator[Problem]:
    source = step.get("from_step")
    if source is None:
        return
    if not isinstance(source, str) or source not in seen:
        yield Problem((*path, "from_step"), f"there is no step {source!r} before this one")
    if step.get("with") or step.get("for_each"):
        yield Problem((*path, "from_step"), "from_step says all: it goes without 'with' and 'for_each'")


def _step(step: dict[str, Any], path: Path, known: KnownNames) -> Iterator[Problem]:
    loops = _loop_names(step)
    inside = known.inside(loops)
    yield from _for_each(step, path, known)
    yield from _when(step.get("when"), (*path, "when"), known)
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
            yield from _reference(name, (*path, part), inside)
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
    restores = action.name in _RESTORED_BY.values()
    if restores and (step.get("from_step") is None or step.get("always") is not True):
        text = f"{action.name} asks nobody: it only puts back, always, what a step found (from_step, always: true)"
        yield Problem((*path, "action"), text)
    if step.get("from_step") is None:
        yield from _args(
            f"action {action.name}", _plain(step.get("with")), (*path, "with"), (action.params, action.optional), known
        )


def _check(check: dict[str, Any], path: Path, known: KnownNames, *, loop_allowed: bool = False) -> Iterator[Problem]:
    if "for_each" in check and not loop_allowed:
        text = "for_each belongs to the step here: its checks are asked for each item anyway"
        yield Problem((*path, "for_each"), text, at_key=True)
    yield from _for_each(check, path, known)
    yield from _when(check.get("when"), (*path, "when"), known.inside(_loop_names(check)))
    name = check.get("check")
    if not isinstance(name, str):
        return
    if name not in PROBES:
        yield Problem((*path, "check"), unknown("check", name, PROBES))
        return
    probe = PROBES[name]
    fields = _CHECK_FIELDS | {"on_breach"} if path[0] == "invariants" else _CHECK_FIELDS
    given = {k: v for k, v in check.items() if k not in fields}
    yield from _args(f"check {name}", given, path, (probe.params, probe.optional), known.inside(_loop_names(check)))


def _items(value: object, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for i, item in enumerate(value if isinstance(value, list) else []):
        if isinstance(item, dict):
            yield (*path, i), item


def _at(data: dict[str, Any], path: tuple[str, ...]) -> object:
    found: object = data
    for key in path:
        found = _plain(found).get(key)
    return found


def _plain(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _args(
    owner: str,
    given: Mapping[str, Any],
    path: Path,
    declared: tuple[Mapping[str, ArgKind], Mapping[str, ArgKind]],
    known: KnownNames,
) -> Iterator[Problem]:
    required, optional = declared
    kinds = {**required, **optional}
    for name in required:
        if name not in given:
            yield Problem(path, f"{owner} needs {name!r} ({required[name].value})")
    for name, value in given.items():
        place = (*path, name)
        if name not in kinds:
            what = unknown(f"argument of {owner}:", name, kinds) if kinds else f"{owner} takes no argument {name!r}"
            yield Problem(place, what, at_key=True)
            continue
        references = list(names_in(value))
        for reference in references:
            yield from _reference(reference, place, known)
        if not references:
            yield from _literal(kinds[name], value, place)


def _literal(kind: ArgKind, value: object, path: Path) -> Iterator[Problem]:
    try:
        # Only a value that has been read already is a number of seconds without a unit.
        coerce(kind, str(value) if kind is ArgKind.DURATION else value)
    except ValueError as error:
        yield Problem(path, str(error))


def _reference(name: str, path: Path, known: KnownNames) -> Iterator[Problem]:
    """`finding.X` is checked once the finding is known; a wrong parameter or loop name is always a mistake."""
    head, dot, rest = name.partition(".")
    if head == "finding" and dot:
        return
    if head == "params" and dot:
        if rest not in known.params:
            what = unknown("parameter", rest, known.params) if known.params else f"there is no parameter {rest!r}"
            yield Problem(path, what)
    elif name not in known.loops:
        names = ("finding.NAME", *(f"params.{p}" for p in known.params), *known.loops)
        yield Problem(path, unknown("reference", name, names))


def _params(params: dict[str, Any]) -> Iterator[Problem]:
    for name, spec in params.items():
        kind = _plain(spec).get("type")
        if not isinstance(kind, str) or kind not in tuple(ArgKind):
            continue
        for part in ("default", "min", "max"):
            if spec.get(part) is not None:
                yield from _literal(ArgKind(kind), spec[part], ("params", name, part))
        choices = spec.get("choices")
        for i, choice in enumerate(choices if isinstance(choices, list) else []):
            yield from _literal(ArgKind(kind), choice, ("params", name, "choices", i))


def _when(when: object, path: Path, known: KnownNames) -> Iterator[Problem]:
    if not isinstance(when, dict):
        return
    used = [op for op in (*OPERATORS, *TOGETHER) if op in when]
    if len(used) != 1 or ("fact" in when) == (used[0] in TOGETHER):
        text = f"when needs a fact and exactly one of {', '.join(OPERATORS)}; or one of {', '.join(TOGETHER)}"
        yield Problem(path, text)
        return
    fact = when.get("fact")
    if isinstance(fact, str):
        yield from _reference(fact, (*path, "fact"), known)
    inside = when.get(used[0])
    if used[0] in {"all", "any"}:
        if not inside:
            yield Problem((*path, used[0]), f"{used[0]} of nothing")
        for i, part in enumerate(inside if isinstance(inside, list) else []):
            yield from _when(part, (*path, used[0], i), known)
    elif used[0] == "not":
        yield from _when(inside, (*path, "not"), known)


def _for_each(owner: dict[str, Any], path: Path, known: KnownNames) -> Iterator[Problem]:
    loop = _plain(owner.get("for_each"))
    items = loop.get("items")
    if isinstance(items, str) and source_of(items) not in ITEMS:
        text = f"for_each goes over one of {', '.join('${' + name + '}' for name in ITEMS)}"
        yield Problem((*path, "for_each", "items"), text)
    for name in names_in(loop.get("batch")):
        yield from _reference(name, (*path, "for_each", "batch"), known)


def _loop_names(owner: dict[str, Any]) -> tuple[str, ...]:
    loop = _plain(owner.get("for_each"))
    name, items = loop.get("as"), loop.get("items")
    if not isinstance(name, str):
        return ()
    source = source_of(items) if isinstance(items, str) else ""
    if source in PARTITIONS:
        return name, f"{name}.topic"
    return tuple(f"{name}.{part}" for part in ITEMS.get(source, ())) or (name,)
