"""The names of partitions, one object each: four sources of a snapshot name the same tens of thousands of them."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition


class PartitionNames:
    """Returns the same object for the same partition. Several threads may ask at once."""

    def __init__(self) -> None:
        self._topics: dict[str, dict[int, TopicPartition]] = {}

    def of(self, topic: str) -> dict[int, TopicPartition]:
        """Returns the known partitions of a topic, by number; the caller adds the missing ones."""
        return self._topics.setdefault(topic, {})
