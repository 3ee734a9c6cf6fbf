"""The story of one consumer group: from its name to its coordinator, and why it waits or does not."""

from __future__ import annotations

from dataclasses import dataclass

from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Evidence, Finding, Remedy


@dataclass(frozen=True, slots=True)
class GroupStory:
    """`blocked` is None where no source could tell. `steps` are told in order, each ending where the next begins."""

    group: str
    partition: TopicPartition | None
    blocked: bool | None
    verdict: str
    steps: tuple[Evidence, ...]
    findings: tuple[Finding, ...] = ()
    next_steps: tuple[Remedy, ...] = ()
