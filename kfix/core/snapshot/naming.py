"""Names of a partition and of a server's address in a snapshot."""

from dataclasses import dataclass
from typing import NamedTuple

from kfix.core.declared import Int32, Port


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: Int32

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a server."""

    host: str
    port: Port

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class PartitionNames:
    """Returns the same object for the same partition. Several threads may ask at once."""

    def __init__(self) -> None:
        self._topics: dict[str, dict[int, TopicPartition]] = {}

    def of(self, topic: str) -> dict[int, TopicPartition]:
        """Returns the known partitions of a topic, by number; the caller adds the missing ones."""
        return self._topics.setdefault(topic, {})
