"""What a probe is: one read-only question with declared arguments and declared reads.

`reads` are the facts the answer rests on; where a step requires the probe they join the plan's read set. `freeze` adds,
at plan time, what must be literal in the plan (a group's name, an epoch to compare with).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kfix.model.plan.answer import Answer
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact
from kfix.ports import ClusterReader


def no_reads(_args: Args) -> tuple[str, ...]:
    return ()


def as_written(args: Args, _read: ReadFact) -> Args:
    return args


@dataclass(frozen=True, slots=True)
class Probe:
    """`params` are required in YAML, `optional` may be left out there; both are frozen into the plan."""

    name: str
    summary: str
    ask: Callable[[Args, ClusterReader], Answer]
    params: Mapping[str, ArgKind] = field(default_factory=dict)
    optional: Mapping[str, ArgKind] = field(default_factory=dict)
    reads: Callable[[Args], tuple[str, ...]] = no_reads
    freeze: Callable[[Args, ReadFact], Args] = as_written
