"""The replicas of a partition: which are in sync, alive and online, and which would be elected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kfix.core.derive.answers import SnapshotAnswers
from kfix.core.derive.background import Background
from kfix.core.derive.partition_facts import offline_alive, standing
from kfix.core.derive.partitions import Partitions
from kfix.core.snapshot.snapshot import NO_LEADER, Assignment, PartitionView, TopicPartition


@dataclass(frozen=True)
class ReplicaAnswers(SnapshotAnswers):
    partitions: Partitions
    background: Background

    @property
    def live(self) -> frozenset[int] | None:
        return self.background.live

    def assignment(self, tp: TopicPartition) -> Assignment:
        """Returns the assignment; empty if no source has one."""
        if self.record is not None and tp in self.record.assignments:
            return self.record.assignments[tp]
        if self.snapshot.reassignments is not None and tp in self.snapshot.reassignments:
            return self.snapshot.reassignments[tp]
        view = self.newest_view(tp)
        return Assignment(view.replicas if view else ())

    def isr(self, tp: TopicPartition) -> tuple[int, ...]:
        state = self.state(tp) if self.background.authority else None
        view = None if state is not None else self.newest_view(tp)
        return state.isr if state is not None else view.isr if view is not None else ()

    def min_isr(self, tp: TopicPartition) -> int | None:
        """Returns min.insync.replicas as the leader of the partition applies it; None if it was not read."""
        state = self.state(tp) if self.background.authority else None
        known = state if state is not None else self.newest_view(tp)
        leader, replicas = NO_LEADER if known is None else known.leader, len(self.assignment(tp).replicas)
        least = self.background.settings(tp.topic, leader, replicas)[0]
        return None if least < 0 else least

    def among_live(self, brokers: Iterable[int]) -> tuple[int, ...]:
        return tuple(b for b in brokers if b in (self.live or ()))

    def away(self, brokers: Iterable[int]) -> tuple[int, ...]:
        return tuple(b for b in brokers if self.live is not None and b not in self.live)

    def failed_replicas(self, tp: TopicPartition) -> frozenset[int]:
        """Returns the live brokers whose replica is offline, because a log directory failed."""
        readable = frozenset(self.log_ends(tp))
        return offline_alive(tuple(self.views_of(tp).values()), self.live, self.listed, readable)

    def online(self, tp: TopicPartition, brokers: Iterable[int]) -> tuple[int, ...]:
        """Returns the brokers among these that are alive and whose log directory with this replica works."""
        failed = self.failed_replicas(tp)
        return tuple(b for b in self.among_live(brokers) if b not in failed)

    def unclean_winner(self, tp: TopicPartition) -> int | None:
        """Returns the first replica in assignment order that is online, whatever its log (docs/facts/controller.md)."""
        return next(iter(self.online(tp, self.assignment(tp).replicas)), None)

    def newest_view(self, tp: TopicPartition) -> PartitionView | None:
        """Returns the partition in the newest metadata of any broker; None if no broker knows it."""
        return max(self.views_of(tp).values(), key=standing, default=None)
