"""Arguments, references, conditions and loops of a runbook: whether they name and hold what exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kfix.documents.problems import Path, Problem, unknown
from kfix.model.plan.args import ArgKind, coerce
from kfix.runbook.file.references import names_in
from kfix.runbook.file.sources import ITEMS, PARTITIONS

OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge", "in", "contains")
_TOGETHER = ("all", "any", "not")


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Names that may be referred to: parameters, and within a loop its item or the item's parts."""

    params: tuple[str, ...]
    loops: tuple[str, ...] = ()

    def inside(self, loops: tuple[str, ...]) -> KnownNames:
        return replace(self, loops=(*self.loops, *loops))


def plain(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def check_args(
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
            yield from check_reference(reference, place, known)
        if not references:
            yield from _literal(kinds[name], value, place)


def _literal(kind: ArgKind, value: object, path: Path) -> Iterator[Problem]:
    try:
        # Only a value that was read already is a bare number of seconds.
        coerce(kind, str(value) if kind is ArgKind.DURATION else value)
    except ValueError as error:
        yield Problem(path, str(error))


def check_reference(name: str, path: Path, known: KnownNames) -> Iterator[Problem]:
    """`finding.X` is checked when the finding is known; a wrong parameter or loop name is wrong for ever."""
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


def check_params(params: dict[str, Any]) -> Iterator[Problem]:
    for name, spec in params.items():
        kind = plain(spec).get("type")
        if not isinstance(kind, str) or kind not in tuple(ArgKind):
            continue
        for part in ("default", "min", "max"):
            if spec.get(part) is not None:
                yield from _literal(ArgKind(kind), spec[part], ("params", name, part))
        choices = spec.get("choices")
        for i, choice in enumerate(choices if isinstance(choices, list) else []):
            yield from _literal(ArgKind(kind), choice, ("params", name, "choices", i))


def check_when(when: object, path: Path, known: KnownNames) -> Iterator[Problem]:
    if not isinstance(when, dict):
        return
    used = [op for op in (*OPERATORS, *_TOGETHER) if op in when]
    if len(used) != 1 or ("fact" in when) == (used[0] in _TOGETHER):
        text = f"when needs a fact and exactly one of {', '.join(OPERATORS)}; or one of {', '.join(_TOGETHER)}"
        yield Problem(path, text)
        return
    fact = when.get("fact")
    if isinstance(fact, str):
        yield from check_reference(fact, (*path, "fact"), known)
    inside = when.get(used[0])
    if used[0] in {"all", "any"}:
        if not inside:
            yield Problem((*path, used[0]), f"{used[0]} of nothing")
        for i, part in enumerate(inside if isinstance(inside, list) else []):
            yield from check_when(part, (*path, used[0], i), known)
    elif used[0] == "not":
        yield from check_when(inside, (*path, "not"), known)


def check_for_each(owner: dict[str, Any], path: Path, known: KnownNames) -> Iterator[Problem]:
    loop = plain(owner.get("for_each"))
    items = loop.get("items")
    if isinstance(items, str) and _source(items) not in ITEMS:
        text = f"for_each goes over one of {', '.join('${' + name + '}' for name in ITEMS)}"
        yield Problem((*path, "for_each", "items"), text)
    for name in names_in(loop.get("batch")):
        yield from check_reference(name, (*path, "for_each", "batch"), known)


def loop_names(owner: dict[str, Any]) -> tuple[str, ...]:
    loop = plain(owner.get("for_each"))
    name, items = loop.get("as"), loop.get("items")
    if not isinstance(name, str):
        return ()
    source = _source(items) if isinstance(items, str) else ""
    if source in PARTITIONS:
        return name, f"{name}.topic"
    return tuple(f"{name}.{part}" for part in ITEMS.get(source, ())) or (name,)


def _source(items: str) -> str:
    return items.removeprefix("${").removesuffix("}")
