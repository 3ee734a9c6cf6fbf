"""A runbook whose YAML has been checked. References (`${...}`) are still text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kfix.core.args import ArgKind, ArgValue
from kfix.core.snapshot.snapshot import Mode
from kfix.heal.model.plan import Caps, Gate, OnBreach, OnFailure, Phase

RawValue = int | float | str | bool | tuple["RawValue", ...]


@dataclass(frozen=True, slots=True)
class When:
    """Decided at plan time only: one named fact of the finding or one parameter, compared with a value."""

    fact: str
    op: str
    value: RawValue


@dataclass(frozen=True, slots=True)
class Several:
    """Combined conditions; `how` is `all`, `any` or `not` (of exactly one)."""

    how: str
    parts: tuple[Condition, ...]


Condition = When | Several


def words(when: Condition) -> str:
    if isinstance(when, Several):
        inside = [f"({words(p)})" if isinstance(p, Several) else words(p) for p in when.parts]
        return f"not {inside[0]}" if when.how == "not" else f" {'and' if when.how == 'all' else 'or'} ".join(inside)
    return f"{when.fact} {when.op} {list(when.value) if isinstance(when.value, tuple) else when.value}"


@dataclass(frozen=True, slots=True)
class ForEach:
    """`batch` items are issued together, after the first `canary` of them alone. 0: one by one."""

    items: str
    name: str
    batch: RawValue = 0
    canary: int = 0
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class CheckTemplate:
    check: str
    args: Mapping[str, RawValue]
    when: Condition | None = None
    for_each: ForEach | None = None


@dataclass(frozen=True, slots=True)
class InvariantTemplate:
    check: CheckTemplate
    on_breach: OnBreach


@dataclass(frozen=True, slots=True)
class Placement:
    """A placement to compute, once, while planning; `kfix.heal.runbook.placements` holds the kinds."""

    kind: str
    args: Mapping[str, RawValue]


@dataclass(frozen=True, slots=True)
class StepTemplate:
    id: str
    action: str
    why: str
    with_: Mapping[str, RawValue]
    gate: Gate | None
    when: Condition | None
    for_each: ForEach | None
    require: tuple[CheckTemplate, ...]
    unless: tuple[CheckTemplate, ...]
    verify: tuple[CheckTemplate, ...]
    verify_timeout: RawValue
    phase: Phase = Phase.MAIN
    on_failure: OnFailure = OnFailure.NEXT
    from_step: str = ""


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter without a `default` is required. `low` and `high` are inclusive limits."""

    kind: ArgKind
    default: ArgValue | None
    help: str
    low: ArgValue | None = None
    high: ArgValue | None = None
    choices: tuple[ArgValue, ...] = ()


@dataclass(frozen=True, slots=True)
class GoalTemplate:
    checks: tuple[CheckTemplate, ...]
    timeout: RawValue
    interval: RawValue
    consecutive: int


@dataclass(frozen=True, slots=True)
class Expect:
    """What a runbook's own test expects: the steps of the plan, its highest gate, or its refusal."""

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
    params: Mapping[str, RawValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Runbook:
    """`codes` are the findings that it fixes; `request` is the subject without a finding: `topic`, `cluster` or "".

    With `together`, one plan heals all findings of these codes: they have one cause.
    """

    id: str
    version: int
    owner: str
    modes: frozenset[Mode]
    title: str
    about: str
    codes: tuple[str, ...]
    request: str
    params: Mapping[str, Param]
    caps: Caps
    preconditions: tuple[CheckTemplate, ...]
    goal: GoalTemplate
    steps: tuple[StepTemplate, ...]
    tests: tuple[RunbookTest, ...]
    sha256: str
    origin: str = ""
    placement: Placement | None = None
    invariants: tuple[InvariantTemplate, ...] = ()
    standing: tuple[CheckTemplate, ...] = ()
    together: bool = False

    @property
    def needs_offsets(self) -> bool:
        """Whether a step loops over saved offsets, so that a file of them must be given."""
        return any(step.for_each is not None and "saved.offsets" in step.for_each.items for step in self.steps)
