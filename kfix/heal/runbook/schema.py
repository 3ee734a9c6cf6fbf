"""The shape of a runbook file. Pydantic reports every wrong field at once; `lint` checks fields against each other.

A field that kfix does not use is reported as a mistake, never silently ignored.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from kfix.core.args import parse_bytes, parse_duration
from kfix.core.documents.reading import StrictModel

Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
Text = Annotated[str, Field(min_length=1)]
GateName = Literal["auto", "plan", "step", "typed", "two_person"]
Code = Annotated[str, Field(pattern=r"^KFX[0-9]{3}$")]


def _duration(value: object) -> object:
    """Converts a duration to seconds; a reference to a parameter stays text."""
    if isinstance(value, str) and value.startswith("${"):
        return value
    return parse_duration(value)


def _plain(value: object) -> object:
    """Accepts a scalar or a list of scalars; rejects empty values and nested mappings."""
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, int | float | str):
        return value
    raise ValueError("expected a plain value or a list of plain values")


# The text forms that a file may hold, for editors; pydantic's own schema shows only the parsed number.
_SECONDS = {"type": "string", "pattern": r"^\d+(\.\d+)?(ms|s|m|h)$", "examples": ["30s"]}
_SECONDS_OR_REF = {"type": "string", "pattern": r"^(\d+(\.\d+)?(ms|s|m|h)$|\$\{)", "examples": ["30s"]}
_SIZE = {"type": "string", "pattern": r"^\d+(\.\d+)?(B|[KMGT]B|[KMG]iB)$", "examples": ["50GB"]}
#: Any plain value; `published` writes out what that is.
PLAIN = "x-plain-value"

Reference = Annotated[str, Field(pattern=r"^\$\{params\.[a-z_0-9]+\}$")]
Raw = Annotated[Any, BeforeValidator(_plain), WithJsonSchema({PLAIN: True})]
Bytes = Annotated[int, BeforeValidator(parse_bytes), WithJsonSchema(_SIZE)]
Duration = Annotated[float, BeforeValidator(_duration), WithJsonSchema(_SECONDS)]
DurationOrRef = Annotated[float | str, BeforeValidator(_duration), WithJsonSchema(_SECONDS_OR_REF)]


class OpenModel(BaseModel):
    """A check. Its further keys are arguments; `lint` compares them with the probe's declaration."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


class MetadataModel(StrictModel):
    id: Slug
    version: Annotated[int, Field(ge=1)]
    owner: Text
    modes: Annotated[list[Literal["zk", "kraft"]], Field(min_length=1)]


class On(StrictModel):
    """What a runbook is for: findings, a person's request, or both. `together`: one plan heals all its findings."""

    finding: list[Code] = Field(default_factory=list)
    together: bool = False
    request: Literal["topic", "cluster"] | None = None


#: How a condition compares a fact, and how it combines other conditions.
OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge", "in", "contains")
TOGETHER = ("all", "any", "not")


class WhenModel(StrictModel):
    """One comparison of a fact, or a combination of conditions; `lint` reports one that is neither or both."""

    fact: Text | None = None
    eq: Raw = None
    ne: Raw = None
    lt: Raw = None
    le: Raw = None
    gt: Raw = None
    ge: Raw = None
    in_: list[Raw] | None = Field(default=None, alias="in")
    contains: Raw = None
    all: list[WhenModel] | None = None
    any: list[WhenModel] | None = None
    not_: WhenModel | None = Field(default=None, alias="not")


class ForEachModel(StrictModel):
    items: Text
    as_: Annotated[str, Field(alias="as", pattern=r"^[a-z][a-z_]*$")]


class StepForEachModel(ForEachModel):
    batch: Annotated[int, Field(ge=1)] | Reference | None = None
    canary: Annotated[int, Field(ge=0)] = 0
    pause: Duration = 0.0


class CheckModel(OpenModel):
    check: Text
    when: WhenModel | None = None
    for_each: ForEachModel | None = None

    @property
    def args(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class InvariantModel(CheckModel):
    on_breach: Literal["pause", "stop"] = "stop"


class PlacementModel(OpenModel):
    kind: Text

    @property
    def args(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class ParamModel(StrictModel):
    """Without a `default` it must be given."""

    type: Literal["duration", "int", "bool", "text", "broker", "topic", "rate", "bytes"]
    default: Raw = None
    min: Raw = None
    max: Raw = None
    choices: list[Raw] = Field(default_factory=list)
    help: Text


class Limits(StrictModel):
    max_partitions: Annotated[int, Field(ge=0)]
    cooldown: Duration
    max_brokers: Annotated[int, Field(ge=1)] | None = None
    max_bytes_moved: Bytes | None = None
    max_duration: Duration | None = None
    max_concurrent_moves: Annotated[int, Field(ge=1)] | None = None
    max_unclean: Annotated[int, Field(ge=0)] = 0


class GoalModel(StrictModel):
    all: Annotated[list[CheckModel], Field(min_length=1)]
    timeout: DurationOrRef
    interval: DurationOrRef
    consecutive: Annotated[int, Field(ge=1, le=100)]


class StepModel(StrictModel):
    id: Slug
    action: Text
    why: Text
    with_: Annotated[dict[str, Raw], Field(default_factory=dict, alias="with")]
    gate: GateName | None = None
    when: WhenModel | None = None
    for_each: StepForEachModel | None = None
    from_step: Slug | None = None
    require: list[CheckModel] = Field(default_factory=list)
    unless: list[CheckModel] = Field(default_factory=list)
    verify: list[CheckModel] = Field(default_factory=list)
    verify_timeout: DurationOrRef = 10.0
    on_failure: Literal["next", "continue", "stop", "ask", "rollback"] = "next"
    always: bool = False
    after_goal: bool = False


class ExpectModel(StrictModel):
    steps: list[str] = Field(default_factory=list)
    max_gate: GateName | None = None
    refused_by: str = ""
    healed: bool = False


class TestModel(StrictModel):
    name: Text
    cluster: Slug
    finding: dict[str, Raw]
    params: dict[str, Raw] = Field(default_factory=dict)
    expect: ExpectModel


class RunbookModel(StrictModel):
    api_version: Annotated[Literal["kfix/v1"], Field(alias="apiVersion")]
    kind: Literal["Runbook"]
    metadata: MetadataModel
    title: Text
    about: Text
    on: On
    params: dict[str, ParamModel] = Field(default_factory=dict)
    limits: Limits
    placement: PlacementModel | None = None
    preconditions: list[CheckModel] = Field(default_factory=list)
    invariants: list[InvariantModel] = Field(default_factory=list)
    goal: GoalModel
    standing: list[CheckModel] = Field(default_factory=list)
    steps: Annotated[list[StepModel], Field(min_length=1)]
    tests: Annotated[list[TestModel], Field(min_length=1)]
