"""The shape of a runbook file. Pydantic names every wrong field at once; what fields mean together is `lint`'s matter.

A field that kfix does not act on does not exist here: it is a mistake, never silently ignored.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kfix.model.args import parse_duration

Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
Text = Annotated[str, Field(min_length=1)]
Code = Annotated[str, Field(pattern=r"^KFX[0-9]{3}$")]


def _duration(value: object) -> object:
    """A reference to a parameter stays text; everything else must be a duration now."""
    if isinstance(value, str) and value.startswith("${"):
        return value
    return parse_duration(value)


def _plain(value: object) -> object:
    """A scalar or a list of them; an empty value or a nested mapping is nothing a runbook can compare or pass on."""
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, int | float | str):
        return value
    raise ValueError("wanted a plain value or a list of plain values")


Raw = Annotated[Any, BeforeValidator(_plain)]
Duration = Annotated[float, BeforeValidator(_duration)]
DurationOrRef = Annotated[float | str, BeforeValidator(_duration)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class Open(BaseModel):
    """Its further keys are a check's arguments; `lint` compares them with the probe's own declaration."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


class Metadata(Strict):
    id: Slug
    version: Annotated[int, Field(ge=1)]
    owner: Text
    modes: Annotated[list[Literal["zk", "kraft"]], Field(min_length=1)]


class On(Strict):
    finding: Annotated[list[Code], Field(min_length=1)]


class WhenModel(Strict):
    """Exactly one comparison; `lint` says so where there are none or two."""

    fact: Text
    eq: Raw = None
    ne: Raw = None
    in_: list[Raw] | None = Field(default=None, alias="in")
    contains: Raw = None


class ForEachModel(Strict):
    items: Text
    as_: Annotated[str, Field(alias="as", pattern=r"^[a-z][a-z_]*$")]


class CheckModel(Open):
    check: Text
    when: WhenModel | None = None
    for_each: ForEachModel | None = None

    @property
    def args(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class ParamModel(Strict):
    type: Literal["duration", "int", "bool", "text"]
    default: Raw
    help: Text


class Limits(Strict):
    max_partitions: Annotated[int, Field(ge=1)]
    cooldown: Duration


class GoalModel(Strict):
    all: Annotated[list[CheckModel], Field(min_length=1)]
    timeout: DurationOrRef
    interval: DurationOrRef
    consecutive: Annotated[int, Field(ge=1, le=100)]


class StepModel(Strict):
    id: Slug
    action: Text
    why: Text
    with_: Annotated[dict[str, Raw], Field(default_factory=dict, alias="with")]
    gate: Literal["auto", "plan", "step", "typed"] | None = None
    when: WhenModel | None = None
    for_each: ForEachModel | None = None
    require: list[CheckModel] = Field(default_factory=list)
    unless: list[CheckModel] = Field(default_factory=list)
    verify: Annotated[list[CheckModel], Field(min_length=1)]
    verify_timeout: Duration = 10.0


class ExpectModel(Strict):
    steps: list[str] = Field(default_factory=list)
    max_gate: Literal["auto", "plan", "step", "typed"] | None = None
    refused_by: str = ""
    healed: bool = False


class TestModel(Strict):
    name: Text
    cluster: Slug
    finding: dict[str, Raw]
    expect: ExpectModel


class RunbookModel(Strict):
    api_version: Annotated[Literal["kfix/v1"], Field(alias="apiVersion")]
    kind: Literal["Runbook"]
    metadata: Metadata
    title: Text
    about: Text
    on: On
    params: dict[str, ParamModel] = Field(default_factory=dict)
    limits: Limits
    preconditions: list[CheckModel] = Field(default_factory=list)
    goal: GoalModel
    steps: Annotated[list[StepModel], Field(min_length=1)]
    tests: Annotated[list[TestModel], Field(min_length=1)]
