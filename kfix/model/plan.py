"""A plan: concrete, literal, single use. Runbooks choose, plans list, runs record.

Everything people are shown and everything that runs is in here; whoever carries a plan out needs no runbook, no
template and no planner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from kfix.model.args import Args
from kfix.model.facts import Fact
from kfix.model.finding import FactValue
from kfix.model.snapshot import ClusterIdentity, TopicPartition

SCHEMA = "kfix.plan/v1"
NO_LOSS = "none"


class Gate(IntEnum):
    """Ordered: a runbook may raise the gate of a step, never lower it under the floor of its action."""

    AUTO = 0
    PLAN = 1
    STEP = 2
    TYPED = 3

    @property
    def word(self) -> str:
        return self.name.lower()


class Risk(StrEnum):
    """The blast radius in one word; the words are explained in `docs/runbooks.md`."""

    ONE_PARTITION = "one partition"
    WHOLE_CLUSTER = "the whole cluster"


@dataclass(frozen=True, slots=True)
class CheckCall:
    """A probe's name with literal arguments."""

    check: str
    args: Args = field(default_factory=Args)

    def __str__(self) -> str:
        inside = ", ".join(f"{k}={v if not isinstance(v, tuple) else list(v)}" for k, v in self.args.items())
        return f"{self.check}({inside})"


@dataclass(frozen=True, slots=True)
class Goal:
    """Met at any time means: the rest of the ladder is not needed. `consecutive` good reads in a row are the proof."""

    checks: tuple[CheckCall, ...]
    timeout: float
    interval: float
    consecutive: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """`max_loss` starts with `none` or says what may be lost at worst."""

    partitions: int
    replicas_moved: int
    bytes: int
    seconds: float
    max_loss: str


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """`pre` are the facts re-read in the same second before the call; `phrase` is what a `typed` gate wants typed.

    Where all of `unless` pass at the step's turn it is not needed and skipped.
    """

    id: str
    action: str
    args: Args
    gate: Gate
    risk: Risk
    why: str
    what: str
    target: str
    phrase: str
    reversible: bool
    undo: str
    command: str
    pre: tuple[str, ...]
    require: tuple[CheckCall, ...]
    unless: tuple[CheckCall, ...]
    verify: tuple[CheckCall, ...]
    verify_timeout: float
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Skipped:
    """A branch that was not taken, and why: it answers "why did it not ..."."""

    step: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunbookRef:
    id: str
    version: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PlannedFor:
    """The finding as it was when the plan was made."""

    code: str
    obj: str
    summary: str
    cause: str
    partitions: tuple[TopicPartition, ...]
    facts: Mapping[str, FactValue]

    @property
    def key(self) -> str:
        return f"{self.code}:{self.obj}"


@dataclass(frozen=True, slots=True)
class Created:
    at: float
    by: str
    host: str
    kfix: str


@dataclass(frozen=True, slots=True)
class Caps:
    """What the runbook allows at most; the planner refuses above them, it never cuts a plan to size."""

    max_partitions: int
    cooldown: float


@dataclass(frozen=True, slots=True)
class Plan:
    """`plan_id` is the sha256 of the canonical body; `kfix.runbook.planfile` computes and checks it."""

    cluster: ClusterIdentity
    created: Created
    expires_at: float
    runbook: RunbookRef
    title: str
    finding: PlannedFor
    params: Args
    caps: Caps
    facts: tuple[Fact, ...]
    preconditions: tuple[CheckCall, ...]
    goal: Goal
    steps: tuple[PlannedStep, ...]
    skipped_at_plan: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    plan_id: str = ""

    @property
    def short_id(self) -> str:
        return self.plan_id[:8]

    @property
    def highest_gate(self) -> Gate:
        return max((s.gate for s in self.steps), default=Gate.AUTO)

    @property
    def impact(self) -> Estimate:
        """The worst case: every rung is needed. A partition touched by three rungs counts once."""
        losses = [s.estimate.max_loss for s in self.steps if not s.estimate.max_loss.startswith(NO_LOSS)]
        touched = {str(s.args["partition"]) for s in self.steps if "partition" in s.args}
        return Estimate(
            partitions=max([len(touched), *(s.estimate.partitions for s in self.steps)]),
            replicas_moved=sum(s.estimate.replicas_moved for s in self.steps),
            bytes=sum(s.estimate.bytes for s in self.steps),
            seconds=sum(s.estimate.seconds for s in self.steps),
            max_loss="; ".join(losses) or next((s.estimate.max_loss for s in self.steps), NO_LOSS),
        )
