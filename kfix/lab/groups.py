"""Consumer groups with committed offsets, one in each partition of the offsets topic."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from kfix.lab import wire
from kfix.lab.waiting import wait_for
from kfix.model.coordinator import partition_of_group

if TYPE_CHECKING:
    from kfix.lab.access import Access
    from kfix.lab.wire import TopicPartition

STEMS = ("payments", "orders", "billing", "shipping", "search", "fraud", "mail", "reports")
COORDINATOR_NOT_AVAILABLE = 15


def name_for(partition: int, partitions: int, stem: str) -> str:
    """`payments`, `payments-1`, `payments-2`, ... : the first whose offsets live in that partition."""
    if partition_of_group(stem, partitions) == partition:
        return stem
    return next(name for n in count(1) if partition_of_group(name := f"{stem}-{n}", partitions) == partition)


@dataclass(frozen=True)
class Groups:
    """Offsets partition -> name of the group."""

    access: Access
    by_partition: dict[int, str]
    topic: str

    def coordinator(self, partition: int, via: int) -> tuple[int, int]:
        """Error code and broker, in the opinion of one broker; no answer counts as not available."""
        try:
            return wire.find_coordinator(self.access.addresses()[via], self.by_partition[partition])
        except OSError:
            return COORDINATOR_NOT_AVAILABLE, -1

    def commit(self, partition: int, offsets: dict[TopicPartition, int]) -> int:
        """The error code of one commit at the group's coordinator."""
        error, broker = self.coordinator(partition, self._somebody())
        if error:
            return error
        try:
            return wire.commit(self.access.addresses()[broker], self.by_partition[partition], offsets)
        except OSError:
            return COORDINATOR_NOT_AVAILABLE

    def works(self, partition: int) -> bool:
        """The group finds its coordinator and reads its committed offset there."""
        error, broker = self.coordinator(partition, self._somebody())
        if error:
            return False
        try:
            error, offset = wire.committed(
                self.access.addresses()[broker], self.by_partition[partition], (self.topic, 0)
            )
        except OSError:
            return False
        return error == 0 and offset >= 0

    def commit_all(self, offsets: dict[TopicPartition, int]) -> None:
        for partition, group in self.by_partition.items():
            # A coordinator that was just made leader still loads its partition for a moment.
            wait_for(f"group {group} commits", lambda number=partition: self.commit(number, offsets) == 0, 30)  # type: ignore[misc]

    def _somebody(self) -> int:
        for broker in sorted(self.access.live_ids()):
            if self.access.metadata(broker) is not None:
                return broker
        return -1
