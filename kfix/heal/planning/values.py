"""Parameters, references, conditions and loops of a runbook, made literal while planning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kfix.core.args import ArgKind, Args, ArgValue, coerce
from kfix.core.diagnosis.finding import Finding
from kfix.core.documents.problems import unknown
from kfix.core.errors import RefusedError, UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.model.plan import CheckCall, PlannedFor, Skipped
from kfix.heal.planning.loops import Items
from kfix.heal.probes.facts import FactReader
from kfix.heal.probes.registry import ALL as PROBES
from kfix.heal.runbook.references import UnknownReference, Value, resolve, source_of

if TYPE_CHECKING:
    from kfix.heal.model.runbook import CheckTemplate, Condition, ForEach, Param, RawValue, Runbook


def parse_params(runbook: Runbook, given: Mapping[str, str]) -> Args:
    """Returns the given parameters over the defaults.

    Raises UsageError for an unknown or missing parameter, and for a value of the wrong type or out of bounds.
    """
    found = runbook.defaults
    for name, value in given.items():
        if name not in runbook.params:
            what = unknown("parameter", name, runbook.params) if runbook.params else "it has no parameters"
            raise UsageError(f"{runbook.id}: {what}")
        try:
            found[name] = _of_kind(runbook.params[name].type, value)
            _within(runbook.params[name], found[name])
        except ValueError as error:
            raise UsageError(f"--param {name}: {error}") from error
    missing = [name for name in runbook.params if name not in found]
    if missing:
        text = f"{runbook.id} needs the parameter {missing[0]!r}: {runbook.params[missing[0]].help}"
        raise UsageError(text, hint=f"-p {missing[0]}=VALUE")
    return Args(found)


def _of_kind(kind: ArgKind, text: str) -> ArgValue:
    if kind in {ArgKind.INT, ArgKind.BROKER} and text.lstrip("-").isdecimal() and text.isascii():
        return coerce(kind, int(text))
    if kind is ArgKind.BOOL and text in ("true", "false"):
        return text == "true"
    return coerce(kind, text)


def _within(param: Param, value: ArgValue) -> None:
    choices = [param.read(choice) for choice in param.choices]
    if choices and value not in choices:
        raise ValueError(f"{value!r} is not one of {', '.join(map(str, choices))}")
    for bound, word in ((param.read(param.min), "least"), (param.read(param.max), "most")):
        if isinstance(bound, int | float) and isinstance(value, int | float):
            bad = value < bound if word == "least" else value > bound
            if bad:
                raise ValueError(f"{value} is out of bounds: at {word} {bound}")


def complete(runbook: Runbook, params: Args | None) -> Args:
    """Returns the given parameters over the defaults. Raises RefusedError if one without a default is missing."""
    found = runbook.defaults | dict(params or {})
    missing = [name for name in runbook.params if name not in found]
    if missing:
        raise RefusedError(f"{runbook.id} needs the parameter {missing[0]!r}", hint=f"-p {missing[0]}=VALUE")
    return Args(found)


def known_of(finding: Finding | PlannedFor, params: Args) -> dict[str, Value]:
    known: dict[str, Value] = {f"finding.{name}": value for name, value in finding.facts.items()}
    known["finding.partitions"] = finding.partitions
    topics = {tp.topic for tp in finding.partitions}
    if topics:
        known.setdefault("finding.topic", topics.pop() if len(topics) == 1 else "several topics")
    known |= {"finding.code": finding.code, "finding.obj": finding.obj, "finding.summary": finding.summary}
    return known | {f"params.{name}": value for name, value in params.items()}


@dataclass(frozen=True, slots=True)
class Names:
    """The names known at one place of a runbook. Refusals name the runbook, the place and the finding."""

    runbook: str
    finding: str
    known: Mapping[str, Value]

    def inside(self, values: Mapping[str, Value]) -> Names:
        return Names(self.runbook, self.finding, {**self.known, **values})

    def args(self, raw: Mapping[str, RawValue], kinds: Mapping[str, ArgKind], where: str) -> Args:
        found: dict[str, ArgValue] = {}
        for name, value in raw.items():
            resolved = self.resolve(value, where)
            if kinds[name] is ArgKind.TEXT and type(resolved) is int:
                resolved = str(resolved)
            try:
                found[name] = coerce(kinds[name], resolved)
            except ValueError as error:
                raise RefusedError(f"{self.runbook}: {where}: {name}: {error}") from error
        return Args(found)

    def resolve(self, value: RawValue, where: str) -> Any:
        try:
            return resolve(value, self.known)
        except UnknownReference as error:
            text = f"{self.runbook}: {where}: {self.finding} has no fact {error.args[0]}"
            raise RefusedError(text) from error

    def text(self, value: str, where: str) -> str:
        return str(self.resolve(value, where))

    def seconds(self, value: RawValue, where: str) -> float:
        resolved = self.resolve(value, where)
        if not isinstance(resolved, float):
            raise RefusedError(f"{self.runbook}: {where}: {resolved!r} is not a duration")
        return resolved

    def number(self, value: RawValue, where: str) -> int:
        resolved = self.resolve(value, where)
        if type(resolved) is not int or resolved < 0:
            raise RefusedError(f"{self.runbook}: {where}: {resolved!r} is not a whole number of 0 or more")
        return resolved


def planned_for(finding: Finding) -> PlannedFor:
    partitions: tuple[TopicPartition, ...] = finding.partitions
    cause = f"{finding.cause.text} ({finding.cause.confidence})"
    return PlannedFor(finding.code, finding.obj, finding.summary, cause, partitions, dict(finding.facts))


def _number(test: Callable[[float, float], bool]) -> Callable[[object, object], bool]:
    def compare(seen: object, wanted: object) -> bool:
        if not isinstance(seen, int | float) or not isinstance(wanted, int | float):
            raise RefusedError(f"{seen!r} and {wanted!r} cannot be compared as numbers")
        return test(seen, wanted)

    return compare


_TESTS: Mapping[str, Callable[[object, object], bool]] = {
    "eq": lambda seen, wanted: seen == wanted,
    "ne": lambda seen, wanted: seen != wanted,
    "lt": _number(lambda seen, wanted: seen < wanted),
    "le": _number(lambda seen, wanted: seen <= wanted),
    "gt": _number(lambda seen, wanted: seen > wanted),
    "ge": _number(lambda seen, wanted: seen >= wanted),
    "in": lambda seen, wanted: isinstance(wanted, tuple) and seen in wanted,
    "contains": lambda seen, wanted: isinstance(seen, tuple | str) and wanted in seen,
}


def decide(when: Condition, known: Mapping[str, Value], what: str) -> bool:
    """Returns whether a condition holds.

    Raises RefusedError if any fact it names is unknown, even if the others would decide: `any` must not hide a typo.
    """
    if when.parts:
        results = [decide(part, known, what) for part in when.parts]
        return {"all": all, "any": any}[when.operator](results) if when.operator != "not" else not results[0]
    if when.fact is None or when.fact not in known:
        raise RefusedError(f"{what}: cannot decide {when.words}: the finding has no fact {when.fact}")
    return _TESTS[when.operator](known[when.fact], when.value)


@dataclass(frozen=True, slots=True)
class Expander:
    """Expands loops and checks for one finding. `skipped` collects what conditions excluded, and why."""

    items: Items
    read: FactReader
    skipped: list[Skipped]
    finding: str

    def each(self, name: str, loop: ForEach | None, names: Names) -> Iterator[tuple[str, Names]]:
        """Yields a literal copy per item. A single item keeps the plain name. Raises RefusedError if there is none."""
        if loop is None:
            yield name, names
            return
        source = source_of(loop.items)
        items = self.items.of(source, loop.as_)
        # If no replica moves there is nothing to throttle, and a partition may hold no offset: these may be empty.
        if not items and not source.startswith(("placement.", "logged.")):
            what = "names no partition" if source == "finding.partitions" else f"gives no {source}"
            raise RefusedError(f"{name}: {self.finding} {what} to loop over")
        for item in items:
            yield (f"{name}:{item.suffix}" if len(items) > 1 else name), names.inside(item.values)

    def checks(self, templates: Sequence[CheckTemplate], where: str, names: Names) -> tuple[CheckCall, ...]:
        return tuple(call for t in templates for call in self._check(t, f"{where} {t.check}", names))

    def _check(self, template: CheckTemplate, where: str, names: Names) -> Iterator[CheckCall]:
        """Yields the literal checks. The condition is decided per item, because it may depend on the item's topic."""
        probe = PROBES[template.check]
        left_out = False
        for _, one in self.each(where, template.for_each, names):
            if template.when is not None and not decide(template.when, one.known, where):
                left_out = True
                continue
            args = one.args(template.args, {**probe.params, **probe.optional}, where)
            yield CheckCall(template.check, probe.freeze(args, self.read))
        if left_out and template.when is not None:
            self.skipped.append(Skipped(where, f"only when {template.when.words}"))
