"""What an action is: one change with everything a person must know before it and everything that proves it after.

An action never asks and never retries. `freeze` runs at plan time and makes every argument literal, or says with
`NotApplicable` why this cluster has no use for it; `guards` are asked of the cluster in the same second before `apply`,
whether or not the runbook's author thought of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kfix.model.args import Args, Kind
from kfix.model.facts import Fact, ReadFact
from kfix.model.plan import CheckCall, Estimate, Gate, Risk
from kfix.model.reading import ChangeResult
from kfix.ports import ClusterChanger, ClusterReader


class NotApplicable(Exception):  # noqa: N818 - an answer of the planner's question, not a failure
    """A rung that is of no use here; the message is the reason people read in the plan."""


class Progress(StrEnum):
    """How far a change got whose answer was lost."""

    DONE = "done"
    NOT_STARTED = "not_started"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Inverse:
    """What takes the change back. `reversible` is False where nothing does, and then `text` says what that means."""

    reversible: bool
    text: str


@dataclass(frozen=True, slots=True)
class Preview:
    """`what` in one line; `live` is the fact a typed gate wants typed; `command` is what does it without kfix."""

    what: str
    target: str
    live: str
    command: str
    estimate: Estimate


def no_guards(_args: Args) -> tuple[CheckCall, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Action:
    name: str
    summary: str
    risk: Risk
    gate_floor: Gate
    params: Mapping[str, Kind]
    frozen: Mapping[str, Kind]
    reads: Callable[[Args], tuple[str, ...]]
    writes: Callable[[Args], tuple[str, ...]]
    freeze: Callable[[Args, ReadFact], Args]
    preview: Callable[[Args], Preview]
    inverse: Callable[[Args], Inverse]
    apply: Callable[[Args, ClusterChanger], ChangeResult]
    probe: Callable[[Args, Mapping[str, Fact], ClusterReader], Progress]
    guards: Callable[[Args], tuple[CheckCall, ...]] = field(default=no_guards)
