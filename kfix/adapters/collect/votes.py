"""Combines the metadata of several brokers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.model.cluster.snapshot import BrokerView, Mode, PartitionView, TopicPartition


def offsets_partitions(partitions: Collection[TopicPartition]) -> int:
    return sum(1 for tp in partitions if tp.topic == OFFSETS_TOPIC)


def majority_controller(views: Mapping[int, BrokerView], mode: Mode) -> int | None:
    """Returns the controller that most brokers report, or None. On KRaft, returns any broker.

    A KRaft broker reports a random live broker as controller (docs/facts/kraft.md).
    """
    votes = Counter(v.controller for v in views.values() if v.controller >= 0)
    if not votes:
        return None
    return votes.most_common(1)[0][0] if mode is not Mode.KRAFT else next(iter(views))


def distinct(
    views: Mapping[int, BrokerView],
) -> tuple[list[Mapping[TopicPartition, PartitionView]], list[frozenset[int]]]:
    """Returns the different mappings of partitions, and the brokers that have each: most share one."""
    found: dict[int, tuple[Mapping[TopicPartition, PartitionView], set[int]]] = {}
    for broker, view in views.items():
        found.setdefault(id(view.partitions), (view.partitions, set()))[1].add(broker)
    return [partitions for partitions, _ in found.values()], [frozenset(brokers) for _, brokers in found.values()]
