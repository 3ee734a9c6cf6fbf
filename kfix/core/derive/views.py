"""What the views of several brokers have in common: brokers with the same metadata share one mapping of partitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import BrokerView, PartitionView, TopicPartition


def offsets_partitions(partitions: Collection[TopicPartition]) -> int:
    return sum(1 for tp in partitions if tp.topic == OFFSETS_TOPIC)


def topics_of(views: Mapping[int, BrokerView]) -> frozenset[str]:
    return frozenset(tp.topic for partitions in distinct(views)[0] for tp in partitions)


def distinct(
    views: Mapping[int, BrokerView],
) -> tuple[list[Mapping[TopicPartition, PartitionView]], list[frozenset[int]]]:
    """Returns the different mappings of partitions, and the brokers that have each: most share one."""
    found: dict[int, tuple[Mapping[TopicPartition, PartitionView], set[int]]] = {}
    for broker, view in views.items():
        found.setdefault(id(view.partitions), (view.partitions, set()))[1].add(broker)
    return [partitions for partitions, _ in found.values()], [frozenset(brokers) for _, brokers in found.values()]
