"""Loads a runbook file into a `Runbook`, or reports all of its mistakes, each as `file:line:col: text`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath
from typing import Any

from kfix.core.args import ArgKind, ArgValue, coerce
from kfix.core.documents.problems import Problem
from kfix.core.documents.reading import read_model, read_text
from kfix.core.snapshot.snapshot import Mode
from kfix.heal.model.plan import Caps, Gate, OnBreach, OnFailure, Phase
from kfix.heal.model.runbook import (
    CheckTemplate,
    Condition,
    Expect,
    ForEach,
    GoalTemplate,
    InvariantTemplate,
    Param,
    Placement,
    RawValue,
    Runbook,
    RunbookTest,
    Several,
    StepTemplate,
    When,
)
from kfix.heal.runbook import schema
from kfix.heal.runbook.lint import lint

_OPERATORS = tuple((f"{op}_" if op == "in" else op, op) for op in schema.OPERATORS)


def build(m: schema.RunbookModel, sha256: str, origin: str) -> Runbook:
    """Builds the dataclasses that the planner reads from a runbook's validated models. References stay text."""
    return Runbook(
        id=m.metadata.id,
        version=m.metadata.version,
        owner=m.metadata.owner,
        modes=frozenset(Mode(x) for x in m.metadata.modes),
        title=m.title,
        about=m.about.strip(),
        codes=tuple(m.on.finding),
        request=m.on.request or "",
        together=m.on.together,
        params={k: _param(p) for k, p in m.params.items()},
        caps=Caps(**m.limits.model_dump()),
        preconditions=_checks(m.preconditions),
        goal=GoalTemplate(_checks(m.goal.all), m.goal.timeout, m.goal.interval, m.goal.consecutive),
        steps=tuple(_step(s) for s in m.steps),
        tests=tuple(_test(t) for t in m.tests),
        sha256=sha256,
        origin=origin,
        placement=None if m.placement is None else Placement(m.placement.kind, _raw_mapping(m.placement.args)),
        invariants=tuple(InvariantTemplate(_check(i), OnBreach(i.on_breach)) for i in m.invariants),
        standing=_checks(m.standing),
    )


def _param(p: schema.ParamModel) -> Param:
    kind = ArgKind(p.type)

    def value(raw: Any) -> ArgValue | None:
        return None if raw is None else coerce(kind, raw)

    choices = tuple(coerce(kind, c) for c in p.choices)
    return Param(kind, value(p.default), p.help, value(p.min), value(p.max), choices)


def _step(m: schema.StepModel) -> StepTemplate:
    phase = Phase.ALWAYS if m.always else Phase.AFTER_GOAL if m.after_goal else Phase.MAIN
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
        phase=phase,
        on_failure=OnFailure(m.on_failure),
        from_step=m.from_step or "",
    )


def _checks(models: Iterable[schema.CheckModel]) -> tuple[CheckTemplate, ...]:
    return tuple(map(_check, models))


def _check(m: schema.CheckModel) -> CheckTemplate:
    return CheckTemplate(m.check, _raw_mapping(m.args), _when(m.when), _for_each(m.for_each))


def _when(m: schema.WhenModel | None) -> Condition | None:
    if m is None:
        return None
    for how, parts in (("all", m.all), ("any", m.any), ("not", None if m.not_ is None else [m.not_])):
        if parts is not None:
            return Several(how, tuple(filter(None, map(_when, parts))))
    field, op = next((field, op) for field, op in _OPERATORS if field in m.model_fields_set)
    assert m.fact is not None
    return When(m.fact, op, _raw(getattr(m, field)))


def _for_each(m: schema.ForEachModel | None) -> ForEach | None:
    if m is None:
        return None
    if isinstance(m, schema.StepForEachModel):
        return ForEach(m.items, m.as_, m.batch or 0, m.canary, m.pause)
    return ForEach(m.items, m.as_)


def _test(m: schema.TestModel) -> RunbookTest:
    e = m.expect
    gate = None if e.max_gate is None else Gate[e.max_gate.upper()]
    expect = Expect(tuple(e.steps), gate, e.refused_by, e.healed)
    return RunbookTest(m.name, m.cluster, _raw_mapping(m.finding), expect, _raw_mapping(m.params))


def _raw_mapping(values: Mapping[str, Any]) -> dict[str, RawValue]:
    return {k: _raw(v) for k, v in values.items()}


def _raw(value: Any) -> RawValue:
    if isinstance(value, list):
        return tuple(_raw(v) for v in value)
    assert isinstance(value, int | float | str | bool), value
    return value


def load_file(path: FilePath, *, codes: frozenset[str] = frozenset()) -> Runbook:
    return load_text(read_text(path, "file"), origin=str(path), stem=path.stem, codes=codes)


def load_text(text: str, *, origin: str, stem: str, codes: frozenset[str] = frozenset()) -> Runbook:
    """Parses a runbook. `stem`, the file's name without `.yaml`, must be its id. Raises InvalidFileError."""

    def more(data: object) -> Iterable[Problem]:
        return (*lint(data, codes), *_name(data, stem))

    model = read_model(text, schema.RunbookModel, origin=origin, what="runbook", more=more)
    return build(model, hashlib.sha256(text.encode()).hexdigest(), origin)


def _name(data: object, stem: str) -> Iterable[Problem]:
    metadata = data.get("metadata") if isinstance(data, dict) else None
    name = metadata.get("id") if isinstance(metadata, dict) else None
    if isinstance(name, str) and name != stem:
        yield Problem(("metadata", "id"), f"the runbook's id is {name!r}, but its file is called {stem!r}")
