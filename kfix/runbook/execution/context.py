"""Everything a run needs of the outside, and what it has done so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from kfix.model.plan.answer import Answer
from kfix.model.plan.plan import CheckCall, PlannedStep
from kfix.ports import Clock, ClusterLock, ClusterReader
from kfix.runbook.gate.gates import Given, Human
from kfix.runbook.journal.journal import Listener
from kfix.runbook.journal.runs import RunStore
from kfix.runbook.safety.door import Door
from kfix.runbook.safety.outcomes import Outcome
from kfix.runbook.safety.proof import Proof


@dataclass(frozen=True, slots=True)
class Context:
    """`door` leads to the changes of the same cluster that `reader` reads.

    `lock` None: there is no lock but this host's. `step_by_step`: every change asks by itself.
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


@dataclass(slots=True)
class RunProgress:
    """`issued` are steps whose change left or may have left. `done` are ids changed before this process took over.

    `undone` are ids of steps whose change the run itself took back, with the words of what did that; `undoing` are the
    ids of what did it. `begun`: an intent is in the journal, so that the plan is spent.

    `approved_at` is when the last approval before the first change came; `refused` tells which items were left and why.
    """

    changed: list[str] = field(default_factory=list)
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
        """What was changed and was not taken back by the run itself."""
        past = self.undone.keys() | self.undoing
        return tuple(text for text in self.changed if text.partition(": ")[0] not in past)

    @property
    def put_back(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.undone.values()))


@dataclass(frozen=True, slots=True)
class RunResult:
    """`seconds` are those from the approval to the proof. `standing` is what is still to come, `left` what was left."""

    run: str
    outcome: Outcome
    proof: Proof
    changed: tuple[str, ...]
    seconds: float
    standing: tuple[tuple[CheckCall, Answer], ...] = ()
    left: tuple[str, ...] = ()
