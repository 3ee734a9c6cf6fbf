"""The explanation of one consumer group: from its name to its coordinator, and why it is blocked or not."""

from __future__ import annotations

from dataclasses import dataclass

from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Evidence, Finding, Remedy


@dataclass(frozen=True, slots=True)
class GroupStory:
    """Why a group is blocked; `blocked` is None if no source shows it. `steps` lead from the group to the cause."""

    group: str
    partition: TopicPartition | None
    blocked: bool | None
    verdict: str
    steps: tuple[Evidence, ...]
    findings: tuple[Finding, ...] = ()
    next_steps: tuple[Remedy, ...] = ()
