"""What a placement is computed from, and what it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kfix.model.snapshot import TopicPartition


class PlacementError(Exception):
    """What was asked for cannot be had on this cluster; the message says why and what would help."""


@dataclass(frozen=True, slots=True)
class World:
    """`live` are the registered brokers with their racks (None: no rack). `assignments` are of ALL topics.

    `sizes` are bytes of one replica; a partition whose size nobody told is absent.
    """

    live: Mapping[int, str | None]
    assignments: Mapping[TopicPartition, tuple[int, ...]]
    leaders: Mapping[TopicPartition, int] = field(default_factory=dict)
    isr: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    sizes: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Move:
    """One partition's replicas as they are and as they should be, both in order: the first is the preferred leader."""

    tp: TopicPartition
    before: tuple[int, ...]
    replicas: tuple[int, ...]

    @property
    def adding(self) -> tuple[int, ...]:
        return tuple(b for b in self.replicas if b not in self.before)

    @property
    def removing(self) -> tuple[int, ...]:
        return tuple(b for b in self.before if b not in self.replicas)
