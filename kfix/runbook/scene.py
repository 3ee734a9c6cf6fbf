"""Everything a run needs of the outside, and what it has done so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from kfix.model.plan import CheckCall, PlannedStep
from kfix.model.verdict import Answer
from kfix.ports import Clock, ClusterLock, ClusterReader
from kfix.runbook.door import Door
from kfix.runbook.gates import Given, Human
from kfix.runbook.journal import Listener
from kfix.runbook.proof import Proof
from kfix.runbook.stops import Outcome
from kfix.runbook.store import RunStore


@dataclass(frozen=True, slots=True)
class Scene:
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
class Progressed:
    """`issued` are steps whose change left or may have left. `done` are ids changed before this process took over.

    `approved_at` is when the last approval before the first change came; `refused` tells which items were left and why.
    """

    changed: list[str] = field(default_factory=list)
    issued: list[PlannedStep] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    verified: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    goal_met: bool = False
    approved_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Healed:
    """`seconds` are those from the approval to the proof. `standing` is what is still to come, `left` what was left."""

    run: str
    outcome: Outcome
    proof: Proof
    changed: tuple[str, ...]
    seconds: float
    standing: tuple[tuple[CheckCall, Answer], ...] = ()
    left: tuple[str, ...] = ()
