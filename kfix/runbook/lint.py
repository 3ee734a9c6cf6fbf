"""What fields mean together: gate floors, names of actions and probes, arguments, references. All mistakes at once.

Runs on the plain data, not on the parsed model, so that a mistake in the shape never hides a mistake in the meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kfix.actions.base import Action
from kfix.actions.registry import ALL as ACTIONS
from kfix.model.args import Kind, coerce
from kfix.model.plan import Gate
from kfix.probes.registry import ALL as PROBES
from kfix.runbook.problems import Path, Problem, did_you_mean, unknown
from kfix.runbook.refs import names_in

_OPERATORS = ("eq", "ne", "in", "contains")
_CHECK_FIELDS = frozenset({"check", "when", "for_each"})


def lint(data: object, codes: frozenset[str] = frozenset()) -> Iterator[Problem]:
    """`codes` are the findings that exist; none given: they are not checked."""
    if not isinstance(data, dict):
        return
    params = tuple(p for p in _dict(data.get("params")))
    yield from _params(_dict(data.get("params")))
    yield from _codes(_dict(data.get("on")).get("finding"), codes)
    for name in names_in(data.get("title")):
        yield from _reference(name, ("title",), params, ())
    for where in (("preconditions",), ("goal", "all")):
        for path, check in _items(_at(data, where), where):
            yield from _check(check, path, params, loop_allowed=True)
    for part in ("timeout", "interval"):
        for name in names_in(_dict(data.get("goal")).get(part)):
            yield from _reference(name, ("goal", part), params, ())
    yield from _steps(data.get("steps"), params)


def _codes(wanted: object, codes: frozenset[str]) -> Iterator[Problem]:
    for i, code in enumerate(wanted if isinstance(wanted, list) else []):
        if codes and isinstance(code, str) and code not in codes:
            text = f"unknown finding {code!r}" + (did_you_mean(code, codes) or "; kfix explain lists them")
            yield Problem(("on", "finding", i), text)


def _steps(steps: object, params: tuple[str, ...]) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for path, step in _items(steps, ("steps",)):
        name = step.get("id")
        if isinstance(name, str) and name in seen:
            yield Problem((*path, "id"), f"the step id {name!r} is already used by step {seen[name] + 1}")
        elif isinstance(name, str):
            seen[name] = len(seen)
        yield from _step(step, path, params)


def _step(step: dict[str, Any], path: Path, params: tuple[str, ...]) -> Iterator[Problem]:
    loops = _loop_names(step)
    yield from _for_each(step, path)
    yield from _when(step, path, params)
    action = step.get("action")
    if isinstance(action, str):
        if action in ACTIONS:
            yield from _action(ACTIONS[action], step, path, (params, loops))
        else:
            yield Problem((*path, "action"), unknown("action", action, ACTIONS))
    for name in names_in(step.get("why")):
        yield from _reference(name, (*path, "why"), params, loops)
    for part in ("require", "unless", "verify"):
        for check_path, check in _items(step.get(part), (*path, part)):
            yield from _check(check, check_path, params, loops=loops, loop_allowed=not loops)


def _action(
    action: Action, step: dict[str, Any], path: Path, known: tuple[tuple[str, ...], tuple[str, ...]]
) -> Iterator[Problem]:
    gate = step.get("gate")
    if isinstance(gate, str) and gate.upper() in Gate.__members__ and Gate[gate.upper()] < action.gate_floor:
        text = f"gate {gate!r} is below the floor {action.gate_floor.word!r} of action {action.name}"
        yield Problem((*path, "gate"), text)
    given = _dict(step.get("with"))
    yield from _args(f"action {action.name}", given, (*path, "with"), (action.params, {}), known)


def _check(
    check: dict[str, Any],
    path: Path,
    params: tuple[str, ...],
    *,
    loops: tuple[str, ...] = (),
    loop_allowed: bool = False,
) -> Iterator[Problem]:
    if "for_each" in check and not loop_allowed:
        text = "for_each belongs to the step here: its checks are asked for each item anyway"
        yield Problem((*path, "for_each"), text, at_key=True)
    yield from _for_each(check, path)
    yield from _when(check, path, params)
    name = check.get("check")
    if not isinstance(name, str):
        return
    if name not in PROBES:
        yield Problem((*path, "check"), unknown("check", name, PROBES))
        return
    probe = PROBES[name]
    given = {k: v for k, v in check.items() if k not in _CHECK_FIELDS}
    known = (params, loops + _loop_names(check))
    yield from _args(f"check {name}", given, path, (probe.params, probe.optional), known)


def _args(
    owner: str,
    given: Mapping[str, Any],
    path: Path,
    declared: tuple[Mapping[str, Kind], Mapping[str, Kind]],
    known: tuple[tuple[str, ...], tuple[str, ...]],
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
            yield from _reference(reference, place, *known)
        if not references:
            yield from _literal(kinds[name], value, place)


def _literal(kind: Kind, value: object, path: Path) -> Iterator[Problem]:
    try:
        coerce(kind, value)
    except ValueError as error:
        yield Problem(path, str(error))


def _reference(name: str, path: Path, params: tuple[str, ...], loops: tuple[str, ...]) -> Iterator[Problem]:
    """`finding.X` is checked when the finding is known; a wrong parameter or loop name is wrong for ever."""
    head, dot, rest = name.partition(".")
    if head == "finding" and dot:
        return
    if head == "params" and dot:
        if rest not in params:
            yield Problem(path, unknown("parameter", rest, params) if params else f"there is no parameter {rest!r}")
    elif name not in loops:
        known = ("finding.NAME", *(f"params.{p}" for p in params), *loops)
        yield Problem(path, unknown("reference", name, known))


def _params(params: dict[str, Any]) -> Iterator[Problem]:
    for name, spec in params.items():
        kind = _dict(spec).get("type")
        if isinstance(kind, str) and kind in tuple(Kind) and "default" in spec:
            yield from _literal(Kind(kind), spec["default"], ("params", name, "default"))


def _when(owner: dict[str, Any], path: Path, params: tuple[str, ...]) -> Iterator[Problem]:
    when = owner.get("when")
    if not isinstance(when, dict):
        return
    used = [op for op in _OPERATORS if op in when]
    if len(used) != 1:
        yield Problem((*path, "when"), f"when needs exactly one of {', '.join(_OPERATORS)}")
    fact = when.get("fact")
    if isinstance(fact, str):
        yield from _reference(fact, (*path, "when", "fact"), params, ())


def _for_each(owner: dict[str, Any], path: Path) -> Iterator[Problem]:
    items = _dict(owner.get("for_each")).get("items")
    if isinstance(items, str) and items != "${finding.partitions}":
        yield Problem((*path, "for_each", "items"), "for_each goes over ${finding.partitions} and nothing else")


def _loop_names(owner: dict[str, Any]) -> tuple[str, ...]:
    name = _dict(owner.get("for_each")).get("as")
    return (name,) if isinstance(name, str) else ()


def _items(value: object, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for i, item in enumerate(value if isinstance(value, list) else []):
        if isinstance(item, dict):
            yield (*path, i), item


def _at(data: dict[str, Any], path: tuple[str, ...]) -> object:
    found: object = data
    for key in path:
        found = _dict(found).get(key)
    return found


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
