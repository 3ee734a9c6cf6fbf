"""What an action is: one change with everything a person must know before it and everything that proves it after.

An action never asks and never retries. `freeze` runs at plan time and makes every argument literal, or says with
`NotApplicable` why this cluster has no use for it; `guards` are asked of the cluster in the same second before `apply`,
whether or not the runbook's author thought of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kfix.model.cluster.reading import ChangeResult
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import Fact, ReadFact
from kfix.model.plan.plan import CheckCall, Estimate, Gate, Risk, Undo
from kfix.ports import ClusterChanger, ClusterReader


class NotApplicable(Exception):  # noqa: N818 - an answer of the planner's question, not a failure
    """A rung that is of no use here; the message is the reason people read in the plan."""


class ActionStatus(StrEnum):
    """How far a change got whose answer was lost, or whose run was killed. `IN_PROGRESS` needs waiting, not asking."""

    DONE = "done"
    IN_PROGRESS = "in_progress"
    NOT_STARTED = "not_started"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Inverse:
    """What takes the change back. `reversible` is False where nothing does, and then `text` says what that means.

    `undo` is that change itself, with every argument literal.
    """

    reversible: bool
    text: str
    undo: Undo | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """`what` in one line; `live` is the fact a typed gate wants typed; `command` is what does it without kfix."""

    what: str
    target: str
    live: str
    command: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Copied:
    """How far replicas have come, in bytes. `total` is None where nobody told the size."""

    done: int
    total: int | None


def no_guards(_args: Args) -> tuple[CheckCall, ...]:
    return ()


def no_copying(_args: Args, _reader: ClusterReader) -> Copied | None:
    return None


@dataclass(frozen=True, slots=True)
class Action:
    """`gate_floor` is the lowest gate of any use of it; `floor` raises it for these arguments.

    `risk` is the widest blast radius of any use of it; `radius` tells that of these arguments.

    `proves` are the checks that show the change is there: a rollback is proved by them. `hopeless` are checks that must
    hold while its effect is waited for: once one fails, waiting is in vain. `copied` tells how far it has come.
    An action that `changes` nothing waits, or tells a person what to do; its `apply` is never called. `optional`
    parameters may be left out in YAML, and `freeze` fills them in.
    """

    name: str
    summary: str
    risk: Risk
    gate_floor: Gate
    params: Mapping[str, ArgKind]
    frozen: Mapping[str, ArgKind]
    reads: Callable[[Args], tuple[str, ...]]
    writes: Callable[[Args], tuple[str, ...]]
    freeze: Callable[[Args, ReadFact], Args]
    preview: Callable[[Args], Preview]
    inverse: Callable[[Args], Inverse]
    apply: Callable[[Args, ClusterChanger], ChangeResult]
    probe: Callable[[Args, Mapping[str, Fact], ClusterReader], ActionStatus]
    guards: Callable[[Args], tuple[CheckCall, ...]] = field(default=no_guards)
    proves: Callable[[Args], tuple[CheckCall, ...]] = field(default=no_guards)
    hopeless: Callable[[Args], tuple[CheckCall, ...]] = field(default=no_guards)
    copied: Callable[[Args, ClusterReader], Copied | None] = field(default=no_copying)
    floor: Callable[[Args], Gate] | None = None
    radius: Callable[[Args], Risk] | None = None
    optional: Mapping[str, ArgKind] = field(default_factory=dict)
    changes: bool = True

    @property
    def kinds(self) -> Mapping[str, ArgKind]:
        """Every argument of a planned step, literal by then."""
        return {**self.params, **self.optional, **self.frozen}

    def gate_for(self, args: Args) -> Gate:
        return self.gate_floor if self.floor is None else max(self.gate_floor, self.floor(args))

    def risk_for(self, args: Args) -> Risk:
        return self.risk if self.radius is None else self.radius(args)
