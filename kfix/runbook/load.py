"""A runbook file into a `Runbook`, or all of its mistakes, each as `file:line:col: text`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError

from kfix.errors import InvalidFileError, UsageError
from kfix.model.args import Kind, coerce
from kfix.model.plan import Caps, Gate
from kfix.model.runbook import (
    CheckTemplate,
    Expect,
    ForEach,
    GoalTemplate,
    Param,
    RawValue,
    Runbook,
    RunbookTest,
    StepTemplate,
    When,
)
from kfix.model.snapshot import Mode
from kfix.runbook import schema
from kfix.runbook.lint import lint
from kfix.runbook.nodes import Document, parse
from kfix.runbook.problems import Path, Problem, did_you_mean

_OPERATORS = (("eq", "eq"), ("ne", "ne"), ("in_", "in"), ("contains", "contains"))


def load_file(path: FilePath, *, codes: frozenset[str] = frozenset()) -> Runbook:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no such file") from error
    except UnicodeDecodeError as error:
        raise InvalidFileError((f"{path}:1:1: not UTF-8 text (byte {error.start})",)) from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    return load_text(text, origin=str(path), stem=path.stem, codes=codes)


def load_text(text: str, *, origin: str, stem: str, codes: frozenset[str] = frozenset()) -> Runbook:
    """`stem` is what the runbook must be called: its file's name without `.yaml`."""
    document = parse(text)
    problems = list(document.problems)
    model = None
    if document.data is not None:
        model, wrong = _shape(document)
        found = (*wrong, *lint(document.data, codes), *_name(document.data, stem))
        problems += [(document.place(p.path, at_key=p.at_key), p.text) for p in found]
    if problems or model is None:
        told = dict.fromkeys(f"{origin}:{p.line}:{p.column}: {t}" for p, t in sorted(problems))
        raise InvalidFileError(tuple(told) or (f"{origin}:1:1: the file holds no runbook",))
    return _runbook(model, hashlib.sha256(text.encode()).hexdigest(), origin)


def _shape(document: Document) -> tuple[schema.RunbookModel | None, list[Problem]]:
    try:
        return schema.RunbookModel.model_validate(document.data), []
    except ValidationError as error:
        return None, [_told(dict(e)) for e in error.errors(include_url=False)]


def _told(error: dict[str, Any]) -> Problem:
    """Pydantic's words in ours. A missing field is told at the thing that lacks it, a surplus one at its key."""
    path: Path = tuple(error["loc"])
    name = str(path[-1]) if path else ""
    match error["type"]:
        case "missing":
            return Problem(path[:-1], f"{_where(path[:-1])} lacks {name!r}")
        case "extra_forbidden":
            known = _known_fields(path[:-1])
            hint = did_you_mean(name, known) or f"; known: {', '.join(known)}"
            return Problem(path, f"unknown field {name!r}{hint}", at_key=True)
        case "literal_error":
            got = error["input"]
            wanted = error["ctx"]["expected"]
            near = did_you_mean(str(got), [w.strip("' ") for w in wanted.replace(" or ", ",").split(",")])
            return Problem(path, f"{name} is {got!r}, wanted {wanted}{near}")
        case "string_pattern_mismatch":
            return Problem(path, f"{error['input']!r} is not of the form {error['ctx']['pattern']}")
        case _:
            text = str(error["msg"]).removeprefix("Value error, ")
            return Problem(path, f"{name}: {text[0].lower()}{text[1:]}")


def _where(path: Path) -> str:
    names = [str(p) if isinstance(p, str) else f"#{p + 1}" for p in path]
    return " ".join(names) or "the runbook"


def _known_fields(path: Path) -> list[str]:
    """The fields of the model at a path, found by walking the models' own annotations."""
    model: type[BaseModel] = schema.RunbookModel
    for part in path:
        if isinstance(part, int):
            continue
        field = next((f for n, f in model.model_fields.items() if part in (f.alias or n, n)), None)
        found = None if field is None else _model_in(field.annotation)
        if found is not None:
            model = found
    return sorted(f.alias or n for n, f in model.model_fields.items())


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _model_in(inner)
        if found is not None:
            return found
    return None


def _name(data: object, stem: str) -> Iterable[Problem]:
    metadata = data.get("metadata") if isinstance(data, dict) else None
    name = metadata.get("id") if isinstance(metadata, dict) else None
    if isinstance(name, str) and name != stem:
        yield Problem(("metadata", "id"), f"the runbook is called {name!r} but its file {stem!r}")


# -- models into dataclasses


def _runbook(m: schema.RunbookModel, sha256: str, origin: str) -> Runbook:
    return Runbook(
        id=m.metadata.id,
        version=m.metadata.version,
        owner=m.metadata.owner,
        modes=frozenset(Mode(x) for x in m.metadata.modes),
        title=m.title,
        about=m.about.strip(),
        codes=tuple(m.on.finding),
        params={k: Param(Kind(p.type), coerce(Kind(p.type), p.default), p.help) for k, p in m.params.items()},
        caps=Caps(m.limits.max_partitions, m.limits.cooldown),
        preconditions=_checks(m.preconditions),
        goal=GoalTemplate(_checks(m.goal.all), m.goal.timeout, m.goal.interval, m.goal.consecutive),
        steps=tuple(_step(s) for s in m.steps),
        tests=tuple(_test(t) for t in m.tests),
        sha256=sha256,
        origin=origin,
    )


def _step(m: schema.StepModel) -> StepTemplate:
    return StepTemplate(
        id=m.id,
        action=m.action,
        why=m.why.strip(),
        with_=_raw_mapping(m.with_),
        gate=None if m.gate is None else Gate[m.gate.upper()],
        when=_when(m.when),
        for_each=_for_each(m.for_each),
        require=_checks(m.require),
        unless=_checks(m.unless),
        verify=_checks(m.verify),
        verify_timeout=m.verify_timeout,
    )


def _checks(models: Iterable[schema.CheckModel]) -> tuple[CheckTemplate, ...]:
    return tuple(CheckTemplate(m.check, _raw_mapping(m.args), _when(m.when), _for_each(m.for_each)) for m in models)


def _when(m: schema.WhenModel | None) -> When | None:
    if m is None:
        return None
    field, op = next((field, op) for field, op in _OPERATORS if field in m.model_fields_set)
    return When(m.fact, op, _raw(getattr(m, field)))


def _for_each(m: schema.ForEachModel | None) -> ForEach | None:
    return None if m is None else ForEach(m.items, m.as_)


def _test(m: schema.TestModel) -> RunbookTest:
    e = m.expect
    gate = None if e.max_gate is None else Gate[e.max_gate.upper()]
    expect = Expect(tuple(e.steps), gate, e.refused_by, e.healed)
    return RunbookTest(m.name, m.cluster, _raw_mapping(m.finding), expect)


def _raw_mapping(values: Mapping[str, Any]) -> dict[str, RawValue]:
    return {k: _raw(v) for k, v in values.items()}


def _raw(value: Any) -> RawValue:
    if isinstance(value, list):
        return tuple(_raw(v) for v in value)
    assert isinstance(value, int | float | str | bool), value
    return value
