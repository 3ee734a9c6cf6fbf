"""A runbook file, declared once: its check, its JSON Schema, and the template that the planner makes a plan from.

Pydantic reports every wrong field at once; `kfix.heal.runbook.lint` checks fields against each other. A field that kfix
does not use is a mistake. References (`${...}`) stay text until they are resolved for a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError, core_schema

from kfix.core.args import ArgKind, ArgValue, coerce, parse_bytes, parse_duration
from kfix.core.diagnosis.finding import REQUEST
from kfix.core.documents.outputs import plain
from kfix.core.documents.reading import StrictModel
from kfix.core.snapshot.snapshot import Mode
from kfix.heal.model.plan import Caps, Gate, OnBreach, OnFailure, Phase

RawValue = int | float | str | bool | tuple[Any, ...]


def plain_value(value: object) -> RawValue:
    """Accepts a scalar or a list of scalars; rejects empty values and nested mappings."""
    if isinstance(value, list):
        return tuple(plain_value(v) for v in value)
    if isinstance(value, int | float | str):
        return value
    raise ValueError("expected a plain value or a list of plain values")


def _duration(value: object) -> object:
    """Converts a duration to seconds; a reference to a parameter stays text."""
    if isinstance(value, str) and value.startswith("${"):
        return value
    return parse_duration(value)


@dataclass(frozen=True, slots=True)
class WordOf:
    """Reads one of these members by its word, such as `two_person`."""

    members: Iterable[Enum]

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self._member)

    def __get_pydantic_json_schema__(self, _schema: object, _handler: object) -> dict[str, Any]:
        return {"enum": list(self._by_word), "type": "string"}

    @property
    def _by_word(self) -> Mapping[object, Enum]:
        return {plain(member): member for member in self.members}

    def _member(self, word: object) -> Enum:
        if isinstance(word, str) and word in self._by_word:
            return self._by_word[word]
        *others, last = map(repr, self._by_word)
        raise PydanticCustomError("literal_error", "wrong word", {"expected": f"{', '.join(others)} or {last}"})


# The text forms that a file may hold, for editors; pydantic's own schema shows only the parsed number.
_SECONDS = {"type": "string", "pattern": r"^\d+(\.\d+)?(ms|s|m|h)$", "examples": ["30s"]}
_SECONDS_OR_REF = {"type": "string", "pattern": r"^(\d+(\.\d+)?(ms|s|m|h)$|\$\{)", "examples": ["30s"]}
_SIZE = {"type": "string", "pattern": r"^\d+(\.\d+)?(B|[KMGT]B|[KMG]iB)$", "examples": ["50GB"]}
#: Any plain value; `published` writes out what that is.
PLAIN = "x-plain-value"
_PARAM_KINDS = (
    *(ArgKind.DURATION, ArgKind.INT, ArgKind.BOOL, ArgKind.TEXT),
    *(ArgKind.BROKER, ArgKind.TOPIC, ArgKind.RATE, ArgKind.BYTES),
)

Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
Text = Annotated[str, Field(min_length=1)]
Paragraph = Annotated[Text, AfterValidator(str.strip)]
Code = Annotated[str, Field(pattern=r"^KFX[0-9]{3}$")]
Reference = Annotated[str, Field(pattern=r"^\$\{params\.[a-z_0-9]+\}$")]
GateName = Annotated[Gate, WordOf(Gate)]
Raw = Annotated[RawValue, PlainValidator(plain_value), WithJsonSchema({PLAIN: True})]
#: A value that may be missing; a file cannot hold an empty one.
MaybeRaw = Annotated[RawValue | None, PlainValidator(plain_value), WithJsonSchema({PLAIN: True})]
Bytes = Annotated[int, BeforeValidator(parse_bytes), WithJsonSchema(_SIZE)]
Duration = Annotated[float, BeforeValidator(_duration), WithJsonSchema(_SECONDS)]
DurationOrRef = Annotated[float | str, BeforeValidator(_duration), WithJsonSchema(_SECONDS_OR_REF)]
Positive = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]

_WHEN = "Decided while planning, from facts of the finding and parameters."
_FOR_EACH = "Makes a literal copy for each item."


class Metadata(StrictModel):
    id: Slug = Field(description="The file's name without .yaml.")
    version: Positive = Field(description="Incremented with every change.")
    owner: Text = Field(description="The person or team responsible.")
    modes: Annotated[list[Annotated[Mode, WordOf((Mode.ZOOKEEPER, Mode.KRAFT))]], Field(min_length=1)] = Field(
        description="The cluster modes it is for: zk, kraft."
    )


class On(StrictModel):
    """What a runbook is for: findings, a person's request, or both. `together`: one plan heals all its findings."""

    finding: list[Code] = Field([], description="Finding codes, as kfix explain lists them.")
    together: bool = Field(False, description="One plan heals all its findings, because they have one cause.")
    request: Literal["topic", "cluster"] | None = Field(
        None, description="Planned without a finding: for a topic (parameter topic), or for the cluster."
    )


#: How a condition compares a fact, and how it combines other conditions.
OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge", "in", "contains")
TOGETHER = ("all", "any", "not")


class Condition(StrictModel):
    """One comparison of a fact, or a combination of conditions; `lint` reports one that is neither or both."""

    fact: Text | None = Field(None, description="finding.NAME or params.NAME.")
    eq: MaybeRaw = Field(None, description="Equal.")
    ne: MaybeRaw = Field(None, description="Not equal.")
    lt: MaybeRaw = Field(None, description="Less.")
    le: MaybeRaw = Field(None, description="At most.")
    gt: MaybeRaw = Field(None, description="More.")
    ge: MaybeRaw = Field(None, description="At least.")
    in_: list[Raw] | None = Field(None, alias="in", description="One of these.")
    contains: MaybeRaw = Field(None, description="Contains this.")
    all: list[Condition] | None = Field(None, description="All of these conditions.")
    any: list[Condition] | None = Field(None, description="One of these conditions.")
    not_: Condition | None = Field(None, alias="not", description="Not this condition.")

    @property
    def operator(self) -> str:
        (found,) = self.model_fields_set - {"fact"}
        return found.rstrip("_")

    @property
    def value(self) -> RawValue:
        """The value that the fact is compared with."""
        return plain_value(getattr(self, "in_" if self.operator == "in" else self.operator))

    @property
    def parts(self) -> Sequence[Condition]:
        """The conditions that are combined, of `not` exactly one; empty for a comparison."""
        return self.all or self.any or ([] if self.not_ is None else [self.not_])

    @property
    def words(self) -> str:
        if self.parts:
            inside = [f"({part.words})" if part.parts else part.words for part in self.parts]
            joint = " and " if self.operator == "all" else " or "
            return f"not {inside[0]}" if self.operator == "not" else joint.join(inside)
        return f"{self.fact} {self.operator} {list(self.value) if isinstance(self.value, tuple) else self.value}"


class ForEach(StrictModel):
    items: Text = Field(description="What the loop iterates over.")
    as_: Annotated[str, Field(alias="as", pattern=r"^[a-z][a-z_]*$", description="The name of an item.")]


class StepForEach(ForEach):
    """`batch` items are issued together, after the first `canary` of them alone. None: one by one."""

    batch: Positive | Reference | None = Field(None, description="How many items are issued together.")
    canary: Natural = Field(0, description="How many items run alone first.")
    pause: Duration = Field(0.0, description="Time between two batches.")


class WithArguments(BaseModel):
    """An object whose further keys are arguments; `lint` compares them with the declaration of what it names."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    @property
    def args(self) -> Mapping[str, RawValue]:
        return {name: plain_value(value) for name, value in (self.model_extra or {}).items()}


class CheckTemplate(WithArguments):
    check: Text
    when: Condition | None = Field(None, description=_WHEN)
    for_each: ForEach | None = Field(None, description=_FOR_EACH)


class InvariantTemplate(CheckTemplate):
    on_breach: Annotated[OnBreach, WordOf(OnBreach)] = Field(
        OnBreach.STOP, description="What happens if the invariant no longer holds."
    )


class Placement(WithArguments):
    """A placement to compute, once, while planning; `kfix.heal.runbook.placements` holds the kinds."""

    kind: Text


class Param(StrictModel):
    """Without a `default` it must be given; `min` and `max` are inclusive."""

    type: Annotated[ArgKind, WordOf(_PARAM_KINDS)] = Field(description="The type of the value.")
    default: MaybeRaw = Field(None, description="Without a default the parameter must be given.")
    min: MaybeRaw = Field(None, description="The least value.")
    max: MaybeRaw = Field(None, description="The greatest value.")
    choices: list[Raw] = Field([], description="The values allowed.")
    help: Text = Field(description="One line of help.")

    def read(self, raw: RawValue | None) -> ArgValue | None:
        """Returns a value of the file, such as `min`, in the parameter's type."""
        return None if raw is None else coerce(self.type, raw)


class Limits(StrictModel):
    max_partitions: Natural = Field(description="The most partitions a plan may touch.")
    cooldown: Duration = Field(description="The minimum time between two runs for one finding.")
    max_brokers: Positive | None = Field(None, description="The most brokers that may receive replicas.")
    max_bytes_moved: Bytes | None = Field(None, description="The most bytes that may be copied, such as 200GB.")
    max_duration: Duration | None = Field(None, description="The longest a run may take.")
    max_concurrent_moves: Positive | None = Field(None, description="The most partitions that may be moved at once.")
    max_unclean: Natural = Field(0, description="The most unclean elections; 0 unless data loss is intended.")


class GoalTemplate(StrictModel):
    all: Annotated[list[CheckTemplate], Field(min_length=1)] = Field(description="All of these checks.")
    timeout: DurationOrRef = Field(description="The longest the proof may take.")
    interval: DurationOrRef = Field(description="Time between two rounds of checks.")
    consecutive: Annotated[int, Field(ge=1, le=100)] = Field(
        description="How many times in a row all checks must pass."
    )


class StepTemplate(StrictModel):
    id: Slug = Field(description="Lower case with dashes.")
    action: Text
    why: Paragraph = Field(description="The reason, shown at the gate to the person on call.")
    with_: dict[str, Raw] = Field({}, alias="with", description="Arguments of the action.")
    gate: GateName | None = Field(None, description="Raises the gate above the action's floor, never lowers it.")
    when: Condition | None = Field(None, description=_WHEN)
    for_each: StepForEach | None = Field(None, description=_FOR_EACH)
    from_step: Slug | None = Field(None, description="Restores what that step found.")
    require: list[CheckTemplate] = Field([], description="Checks that must pass right before the change.")
    unless: list[CheckTemplate] = Field([], description="If all of these checks pass, the step is skipped.")
    verify: list[CheckTemplate] = Field([], description="Checks that verify the effect of the step.")
    verify_timeout: DurationOrRef = Field(10.0, description="The longest the verification may take.")
    on_failure: Annotated[OnFailure, WordOf(OnFailure)] = Field(
        OnFailure.NEXT, description="What happens if the step fails."
    )
    always: bool = Field(False, description="The step runs at every end of the run.")
    after_goal: bool = Field(False, description="The step runs only after the goal is proved.")

    @property
    def phase(self) -> Phase:
        return Phase.ALWAYS if self.always else Phase.AFTER_GOAL if self.after_goal else Phase.MAIN


class Expect(StrictModel):
    """What a runbook's own test expects: the steps of the plan, its highest gate, or its refusal."""

    steps: list[str] = Field([], description="The ids of the plan's steps, exactly.")
    max_gate: GateName | None = Field(None, description="The highest gate of the plan, at most.")
    refused_by: str = Field("", description="Text that the refusal must contain.")
    healed: bool = Field(False, description="Carried out on the in-memory cluster, and proved.")


class RunbookTest(StrictModel):
    name: Text = Field(description="What the test shows.")
    cluster: Slug = Field(description="An incident on the in-memory cluster (kfix/heal/memory/incidents/).")
    finding: dict[str, Raw] = Field(
        description=f"The code ({REQUEST}: requested without one), and facts that differ from the incident's."
    )
    params: dict[str, Raw] = Field({}, description="Parameters of the test.")
    expect: Expect = Field(description="The expected plan and result.")


class RunbookFile(StrictModel):
    api_version: Annotated[Literal["kfix/v1"], Field(alias="apiVersion", description="The version of the file format.")]
    kind: Literal["Runbook"] = Field(description="The kind of file.")
    metadata: Metadata = Field(description="Name, version and owner.")
    title: Text = Field(description="One line at the top of the plan; may refer to ${finding.NAME} and ${params.NAME}.")
    about: Paragraph = Field(description="What it is for. kfix runbook list shows the first sentence.")
    on: On = Field(description="The findings it is for, or what may be requested without a finding.")
    params: dict[str, Param] = Field({}, description="Parameters, given with -p NAME=VALUE.")
    limits: Limits = Field(description="Limits of a plan; a plan above one is refused.")
    placement: Placement | None = Field(None, description="Where replicas should be placed, computed while planning.")
    preconditions: list[CheckTemplate] = Field(
        [], description="Checks that must pass when planning, applying and resuming."
    )
    invariants: list[InvariantTemplate] = Field(
        [], description="Checks that must pass before every change and while waiting."
    )
    goal: GoalTemplate = Field(description="The healthy state; its proof ends the run.")
    standing: list[CheckTemplate] = Field(
        [], description="Reported after the run and by verify until it passes; not part of the proof."
    )
    steps: Annotated[list[StepTemplate], Field(min_length=1)] = Field(description="The steps, safest first.")
    tests: Annotated[list[RunbookTest], Field(min_length=1)] = Field(
        description="At least one; kfix runbook test runs them."
    )


class Runbook(RunbookFile):
    """A runbook that was read from the file `origin`, whose content has this hash."""

    sha256: str
    origin: str

    @property
    def id(self) -> str:
        return self.metadata.id

    @property
    def codes(self) -> Sequence[str]:
        """The findings that it fixes."""
        return self.on.finding

    @property
    def request(self) -> str:
        """The subject without a finding: `topic`, `cluster` or ""."""
        return self.on.request or ""

    @property
    def caps(self) -> Caps:
        return Caps(**self.limits.model_dump())

    @property
    def defaults(self) -> dict[str, ArgValue]:
        """The values of the parameters that need not be given."""
        values = {name: param.read(param.default) for name, param in self.params.items()}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def needs_offsets(self) -> bool:
        """Whether a step loops over saved offsets, so that a file of them must be given."""
        return any(step.for_each is not None and "saved.offsets" in step.for_each.items for step in self.steps)
