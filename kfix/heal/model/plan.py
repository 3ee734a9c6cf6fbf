"""A plan: concrete, literal, single use. Runbooks choose, plans list, runs record.

It holds everything that is shown and everything that runs: carrying it out needs no runbook, no template and no
planner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from kfix.core.args import Args, ArgValue
from kfix.core.diagnosis.finding import FactValue
from kfix.core.snapshot.snapshot import ClusterIdentity, TopicPartition
from kfix.core.timing import DiagnosisTimes
from kfix.core.wording import known_size, several
from kfix.heal.model.facts import Fact

SCHEMA = "kfix.plan/v1"
NO_LOSS = "none"


class Gate(IntEnum):
    """Ordered: a runbook may raise the gate of a step, but never lower it below the floor of its action."""

    AUTO = 0
    PLAN = 1
    STEP = 2
    TYPED = 3
    TWO_PERSON = 4

    @property
    def word(self) -> str:
        return self.name.lower()


class Risk(StrEnum):
    """The blast radius; `docs/runbooks.md` explains the words."""

    NOTHING = "nothing"
    ONE_PARTITION = "one partition"
    ONE_GROUP = "one group"
    ONE_TOPIC = "one topic"
    ONE_BROKER = "one broker"
    ONE_PRODUCER = "one transactional producer"
    WHOLE_CLUSTER = "the whole cluster"
    DATA_LOSS = "records that were acknowledged"


class Phase(StrEnum):
    """When a step runs. `ALWAYS` steps run whatever the outcome, `AFTER_GOAL` ones only once the goal is proved."""

    MAIN = "main"
    ALWAYS = "always"
    AFTER_GOAL = "after_goal"


class OnFailure(StrEnum):
    """What follows a step that a guard refused, or whose proof failed or was inconclusive.

    `NEXT`: the next step runs, but a failed guard stops the run. `CONTINUE`: this item is skipped, the
    others continue. `ASK`: a person decides; without a terminal it is `STOP`.
    """

    NEXT = "next"
    CONTINUE = "continue"
    STOP = "stop"
    ASK = "ask"
    ROLLBACK = "rollback"


class OnBreach(StrEnum):
    """What a broken invariant causes: the run pauses until it holds again, or stops."""

    PAUSE = "pause"
    STOP = "stop"


def arg_words(value: ArgValue) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True, slots=True)
class CheckCall:
    """A probe's name with literal arguments."""

    check: str
    args: Args = field(default_factory=Args)

    def __str__(self) -> str:
        return f"{self.check}({', '.join(f'{k}={arg_words(v)}' for k, v in self.args.items())})"


@dataclass(frozen=True, slots=True)
class Invariant:
    """Must hold before every change and while a step waits; an inconclusive answer is a breach."""

    call: CheckCall
    on_breach: OnBreach


@dataclass(frozen=True, slots=True)
class Undo:
    """The literal change that undoes a change. `keep`: a rollback skips it unless everything is requested."""

    action: str
    args: Args
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Goal:
    """Once it is met the rest of the ladder is not needed. `consecutive` successful checks in a row are the proof."""

    checks: tuple[CheckCall, ...]
    timeout: float
    interval: float
    consecutive: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """`max_loss` starts with `none` or states what may be lost at worst."""

    partitions: int = 0
    replicas_moved: int = 0
    bytes: int = 0
    seconds: float = 1.0
    max_loss: str

    def words(self, risk: Risk, condition: str = "") -> str:
        """Returns the worst impact: how much is touched and copied, for how long, and what may be lost.

        `risk` is what is touched, unless partitions can be counted; `condition` follows the seconds.
        """
        return f"{self._touch(risk, condition)}; data loss: {self.max_loss}"

    def brief(self, risk: Risk, condition: str = "") -> str:
        """Returns the same, without the reason why nothing is lost where that holds without a condition."""
        loss = NO_LOSS if self.max_loss.startswith(f"{NO_LOSS}:") else self.max_loss
        return f"{self._touch(risk, condition)}; data loss: {loss}"

    def _touch(self, risk: Risk, condition: str) -> str:
        counted = self.partitions and risk is not Risk.WHOLE_CLUSTER
        touched = several(self.partitions, "partition") if counted else risk.value
        moved = "no data copied"
        if self.replicas_moved:
            moved = f"{several(self.replicas_moved, 'replica')} copied ({known_size(self.bytes)})"
        return f"{touched}, {moved}, about {self.seconds:g} s{condition}"


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """`pre` are the facts that are read again right before the call; `phrase` is what a `typed` gate asks for.

    A step is skipped where all of `unless` pass at its turn. Successive steps of one `batch` (0: none) are issued
    together and verified together, then the run waits `pause` seconds. Nothing undoes a step whose `inverse` is None.
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
    phase: Phase = Phase.MAIN
    on_failure: OnFailure = OnFailure.NEXT
    batch: int = 0
    pause: float = 0.0
    inverse: Undo | None = None

    def undone_by(self, step: PlannedStep) -> bool:
        """Returns whether the other step makes the change that undoes this one."""
        return self.inverse is not None and (self.inverse.action, self.inverse.args) == (step.action, step.args)

    @property
    def risk_rank(self) -> int:
        return list(Risk).index(self.risk)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A branch that was not taken, and why."""

    step: str
    reason: str


def skipped_lines(steps: Iterable[Skipped]) -> Iterator[str]:
    """Yields each reason once for all steps of a loop, such as `by-hand (6): REASON`."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in steps:
        found.setdefault((each.step.partition(":")[0], each.reason), []).append(each.step)
    for (name, reason), ids in found.items():
        yield f"{ids[0] if len(ids) == 1 else f'{name} ({len(ids)})'}: {reason}"


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
    """The runbook's limits; the planner refuses a plan above them, it never shortens one.

    In bytes and seconds; None means no limit. `max_unclean` is 0 unless a runbook sets it: loss is opted into twice.
    """

    max_partitions: int
    cooldown: float
    max_brokers: int | None = None
    max_bytes_moved: int | None = None
    max_duration: float | None = None
    max_concurrent_moves: int | None = None
    max_unclean: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """`plan_id` is the sha256 of the canonical body; `kfix.heal.plan.planfile` computes and checks it.

    `standing` checks are not part of the proof: the run and `verify` report them until they hold. `undoes` names the
    run that this plan rolls back. `judged` are the times with which its finding was made.
    """

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
    invariants: tuple[Invariant, ...] = ()
    standing: tuple[CheckCall, ...] = ()
    skipped_at_plan: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    undoes: str = ""
    judged: DiagnosisTimes = field(default_factory=DiagnosisTimes)
    plan_id: str = ""

    @property
    def short_id(self) -> str:
        return self.plan_id[:8]

    @property
    def restoring(self) -> tuple[PlannedStep, ...]:
        """The steps that run whatever the outcome, such as removing throttles."""
        return tuple(s for s in self.steps if s.phase is Phase.ALWAYS)

    @property
    def highest_gate(self) -> Gate:
        return max((s.gate for s in self.steps), default=Gate.AUTO)

    @property
    def widest_risk(self) -> Risk:
        return max((s.risk for s in self.steps), key=list(Risk).index, default=Risk.NOTHING)

    def _why_none(self) -> str:
        """Returns, of several reasons why nothing is lost, that of the step with the widest impact."""
        steps = sorted(self.steps, key=lambda s: (-s.estimate.replicas_moved, -s.risk_rank))
        return next((s.estimate.max_loss for s in steps), NO_LOSS)

    @property
    def impact(self) -> Estimate:
        """The worst case, in which every step runs. A partition of three steps counts once."""
        losses = [s.estimate.max_loss for s in self.steps if not s.estimate.max_loss.startswith(NO_LOSS)]
        touched = {
            tp for s in self.steps for tp in (s.args.get("partition"), *str(s.args.get("also", "")).split()) if tp
        }
        return Estimate(
            partitions=max([len(touched), *(s.estimate.partitions for s in self.steps)]),
            replicas_moved=sum(s.estimate.replicas_moved for s in self.steps),
            bytes=sum(s.estimate.bytes for s in self.steps),
            seconds=sum(s.estimate.seconds for s in self.steps),
            max_loss="; ".join(dict.fromkeys(losses)) or self._why_none(),
        )
