"""The explanation of one consumer group: a series of checks from its coordinator's address to its rights."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kfix.core.diagnosis.finding import Evidence, Finding, Remedy
from kfix.core.snapshot.snapshot import TopicPartition


class RungState(StrEnum):
    """The result of one check of the series. `OPEN` was read and leaves a doubt; `UNREAD` is not healthy."""

    CLEAR = "not the cause"
    FAILS = "fails"
    OPEN = "in doubt"
    UNREAD = "not read"


@dataclass(frozen=True, slots=True)
class Rung:
    """One check of the series. `said` is the answer, or why it was not read; `code` the finding that it rests on."""

    name: str
    state: RungState
    said: str
    evidence: tuple[Evidence, ...] = ()
    next_steps: tuple[Remedy, ...] = ()
    code: str = ""


@dataclass(frozen=True, slots=True)
class GroupStory:
    """Why a group is blocked; `blocked` is None if that is unknown. The first failing one of `rungs` is the cause."""

    group: str
    partition: TopicPartition | None
    blocked: bool | None
    verdict: str
    rungs: tuple[Rung, ...] = ()
    findings: tuple[Finding, ...] = ()
    next_steps: tuple[Remedy, ...] = ()

    @property
    def cause(self) -> Rung | None:
        return next((rung for rung in self.rungs if rung.state is RungState.FAILS), None)
