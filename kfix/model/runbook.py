"""A runbook as its author meant it, after the YAML was found free of mistakes. References (`${...}`) are still text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kfix.model.args import ArgValue, Kind
from kfix.model.plan import Caps, Gate
from kfix.model.snapshot import Mode

RawValue = int | float | str | bool | tuple["RawValue", ...]


@dataclass(frozen=True, slots=True)
class When:
    """Decided at plan time only: one named fact of the finding or one parameter, compared with a value."""

    fact: str
    op: str
    value: RawValue


@dataclass(frozen=True, slots=True)
class ForEach:
    items: str
    name: str


@dataclass(frozen=True, slots=True)
class CheckTemplate:
    check: str
    args: Mapping[str, RawValue]
    when: When | None = None
    for_each: ForEach | None = None


@dataclass(frozen=True, slots=True)
class StepTemplate:
    id: str
    action: str
    why: str
    with_: Mapping[str, RawValue]
    gate: Gate | None
    when: When | None
    for_each: ForEach | None
    require: tuple[CheckTemplate, ...]
    unless: tuple[CheckTemplate, ...]
    verify: tuple[CheckTemplate, ...]
    verify_timeout: float


@dataclass(frozen=True, slots=True)
class Param:
    kind: Kind
    default: ArgValue
    help: str


@dataclass(frozen=True, slots=True)
class GoalTemplate:
    checks: tuple[CheckTemplate, ...]
    timeout: RawValue
    interval: RawValue
    consecutive: int


@dataclass(frozen=True, slots=True)
class Expect:
    """What a runbook's own test wants: the steps of the plan, its highest gate, or who refuses it."""

    steps: tuple[str, ...]
    max_gate: Gate | None
    refused_by: str
    healed: bool


@dataclass(frozen=True, slots=True)
class RunbookTest:
    name: str
    cluster: str
    finding: Mapping[str, RawValue]
    expect: Expect


@dataclass(frozen=True, slots=True)
class Runbook:
    id: str
    version: int
    owner: str
    modes: frozenset[Mode]
    title: str
    about: str
    codes: tuple[str, ...]
    params: Mapping[str, Param]
    caps: Caps
    preconditions: tuple[CheckTemplate, ...]
    goal: GoalTemplate
    steps: tuple[StepTemplate, ...]
    tests: tuple[RunbookTest, ...]
    sha256: str
    origin: str = ""
