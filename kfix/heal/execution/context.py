"""What a run needs from outside, how far it has come, and what it came to."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from kfix.core.clock import RunTime
from kfix.core.ports import Clock, ClusterLock, ClusterReader, Human
from kfix.heal.gate.gates import AnswerReader, Gatekeeper, Given, flags, lowest_gate
from kfix.heal.journal.journal import Journal, Listener, Samples
from kfix.heal.journal.replay import Replay
from kfix.heal.journal.runs import RunDir, RunStore
from kfix.heal.model.answer import Answer
from kfix.heal.model.facts import Fact
from kfix.heal.model.plan import CheckCall, Plan, PlannedStep
from kfix.heal.safety.door import Door, Passage
from kfix.heal.safety.outcomes import Outcome
from kfix.heal.safety.proof import Proof
from kfix.heal.safety.refusals import PlannedFacts


@dataclass(frozen=True, slots=True)
class Context:
    """What a run needs from outside. `reader` and `door` belong to the same cluster.

    `lock` is None if only this host can be locked. With `step_by_step` every change has its own gate. `at` ends every
    command to paste: " -c NAME", or "" if the plan has all that is needed to reach the cluster.
    """

    reader: ClusterReader
    door: Door
    clock: Clock
    store: RunStore
    human: Human
    given: Given = field(default_factory=Given)
    listener: Listener = lambda _record: None
    lock: ClusterLock | None = None
    step_by_step: bool = False
    at: str = ""


@dataclass(frozen=True, slots=True)
class Locked:
    """The locks a run holds.

    `cluster` is None if operators on other hosts are not locked out, so every change is approved separately; `why`
    then states the reason.
    """

    scope: str
    cluster: ClusterLock | None
    why: str = ""


@dataclass(slots=True)
class RunProgress:
    """How far a run has come.

    `changed` maps the ids of changed steps to what changed. `issued` holds the steps whose change was or may have been
    sent, `done` the ids of steps that an earlier process of this run changed. `undone` maps the ids of steps that the
    run itself reverted to a description of the reverting step; `undoing` holds the ids of the reverting steps. `begun`
    means that an intent is in the journal, so the plan is spent. `refused` describes the items that were skipped, and
    why. `approved_at` is the time of the last approval before the first change (`Clock.monotonic`, seconds).

    At the end, `left_on` describes the throttles that are still set. `on_purpose` means that the operator chose to
    leave them, or could not be asked. `moving` holds the run's moves that Kafka is still carrying out, and `under_way`
    describes them.
    """

    changed: dict[str, str] = field(default_factory=dict)
    issued: list[PlannedStep] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    verified: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    undone: dict[str, str] = field(default_factory=dict)
    undoing: set[str] = field(default_factory=set)
    goal_met: bool = False
    begun: bool = False
    approved_at: float = 0.0
    left_on: list[str] = field(default_factory=list)
    on_purpose: bool = False
    moving: tuple[PlannedStep, ...] = ()
    under_way: str = ""

    @property
    def standing(self) -> tuple[str, ...]:
        """Returns descriptions of the changes that the run has not reverted itself."""
        stays = self.stays
        return tuple(f"{step}: {what}" for step, what in self.changed.items() if step in stays)

    @property
    def stays(self) -> set[str]:
        """Returns the ids of the steps whose change the run has not reverted itself."""
        return self.changed.keys() - self.undone.keys() - self.undoing

    @property
    def descriptions(self) -> tuple[str, ...]:
        """Returns descriptions of all changes."""
        return tuple(f"{step}: {what}" for step, what in self.changed.items())

    @property
    def put_back(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.undone.values()))


@dataclass(slots=True)
class Polls:
    """When a run that waits last checked its invariants and last reported; the bytes copied at each of these times."""

    checked_at: float = float("-inf")
    wait_reported_at: float = float("-inf")
    copies_reported_at: float = float("-inf")
    copied: deque[tuple[float, int]] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run while it is carried out, new or resumed: all that its parts share, and all that they remember.

    `baseline` are the plan's facts, with those that the journal has of earlier changes. `began` is by the monotonic
    clock, less the time that earlier processes spent on this run. `unmoved` holds the changes whose new facts are not
    in the journal yet, each with the facts before it and the throttle that was set during the run (bytes per second);
    `lost` those without an answer.
    """

    plan: Plan
    context: Context
    folder: RunDir
    passage: Passage
    locked: Locked
    journal: Journal
    baseline: PlannedFacts
    gatekeeper: Gatekeeper
    samples: Samples
    began: float
    run_time: RunTime
    progress: RunProgress = field(default_factory=RunProgress)
    polls: Polls = field(default_factory=Polls)
    unmoved: dict[str, tuple[PlannedStep, Mapping[str, Fact], int | None]] = field(default_factory=dict)
    lost: dict[str, tuple[PlannedStep, Mapping[str, Fact]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        plan: Plan,
        context: Context,
        folder: RunDir,
        passage: Passage,
        locked: Locked,
        journal: Journal,
        before: Replay,
    ) -> Self:
        """Returns the run as its journal shows it; `before` is empty for a new one."""
        clock = context.clock

        def early(took: float, least: float) -> None:
            journal.write("gate.early", seconds=round(took, 3), least=round(least, 3))

        lowest = lowest_gate(apart=context.step_by_step or locked.cluster is None)
        return cls(
            plan,
            context,
            folder,
            passage,
            locked,
            journal,
            PlannedFacts(plan.facts, before.facts),
            Gatekeeper(plan, AnswerReader(context.human, clock, early), context.given, lowest),
            Samples(journal),
            clock.monotonic() - before.spent,
            RunTime.begins(clock),
            RunProgress(approved_at=clock.monotonic()),
        )

    @property
    def reader(self) -> ClusterReader:
        return self.context.reader

    @property
    def clock(self) -> Clock:
        return self.context.clock

    @property
    def lock(self) -> ClusterLock | None:
        """None if only this host is locked."""
        return self.locked.cluster

    @property
    def id(self) -> str:
        """The id of the run, with the options that a command about it needs to reach the cluster."""
        return self.folder.id + self.context.at

    @property
    def resume(self) -> str:
        """The command that continues the run, with the flags with which it needs no terminal."""
        apart = self.context.step_by_step or self.lock is None
        approving = "" if self.context.human.interactive else flags(self.plan, apart=apart)
        return f"kfix runbook resume {self.id} {approving}".rstrip()

    @property
    def abort(self) -> str:
        return f"kfix runbook abort {self.folder.id} --reason TEXT{self.context.at}"


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    `seconds` is the time from approval to proof. `standing` holds the checks that do not pass yet but are no part of
    the proof, `left` the items that were skipped.
    """

    run: str
    outcome: Outcome
    proof: Proof
    changed: tuple[str, ...]
    seconds: float
    standing: tuple[tuple[CheckCall, Answer], ...] = ()
    left: tuple[str, ...] = ()
