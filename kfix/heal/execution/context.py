"""What a run needs from outside, how far it has come, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass, field

from kfix.core.clock import RunTime
from kfix.core.ports import Clock, ClusterLock, ClusterReader, Human
from kfix.heal.gate.gates import Given
from kfix.heal.journal.journal import Journal, Listener, Samples
from kfix.heal.journal.runs import RunDir, RunStore
from kfix.heal.model.answer import Answer
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


@dataclass(slots=True)
class RunProgress:
    """How far a run has come.

    `changed` maps the ids of changed steps to what changed. `issued` holds the steps whose change was or may have been
    sent, `done` the ids of steps that an earlier process of this run changed. `undone` maps the ids of steps that the
    run itself reverted to a description of the reverting step; `undoing` holds the ids of the reverting steps. `begun`
    means that an intent is in the journal, so the plan is spent. `refused` describes the items that were skipped, and
    why. `approved_at` is the time of the last approval before the first change (`Clock.monotonic`, seconds).
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


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run while it is carried out, new or resumed: what all its parts share.

    `baseline` are the plan's facts, with those that the journal has of earlier changes. `lock` is None if only this
    host is locked. `began` is by the monotonic clock, less the time that earlier processes spent on this run.
    """

    plan: Plan
    context: Context
    folder: RunDir
    passage: Passage
    lock: ClusterLock | None
    journal: Journal
    baseline: PlannedFacts
    progress: RunProgress
    samples: Samples
    began: float
    run_time: RunTime

    @property
    def reader(self) -> ClusterReader:
        return self.context.reader

    @property
    def clock(self) -> Clock:
        return self.context.clock


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
