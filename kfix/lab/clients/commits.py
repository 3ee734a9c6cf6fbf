"""Consumer groups with committed offsets, one in each partition of the offsets topic."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import partition_of_group
from kfix.core.errors import UnreachableError
from kfix.core.kafka import group_messages
from kfix.core.snapshot.offsets import StoredOffset
from kfix.lab.clients.asking import ask
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kfix.core.snapshot.snapshot import TopicPartition
    from kfix.lab.clients.access import LabClient


# Names of consumer groups that hash to a chosen partition of the offsets topic.

STEMS = ("payments", "orders", "billing", "shipping", "search", "fraud", "mail", "reports")
NOT_LEADER, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, UNSTABLE_OFFSET_COMMIT = 6, 15, 16, 88


def name_for(partition: int, partitions: int, stem: str) -> str:
    """Returns the first of `payments`, `payments-1-readers`, `payments-2-readers`, ... that hashes to that partition.

    Java's hash of a string is a number to the base 31: a counter at the end alone reaches only a few residues of 31, so
    that a topic of 31 or 62 partitions would not be filled. A number followed by a word overflows the 32 bits.
    """
    if partition_of_group(stem, partitions) == partition:
        return stem
    return next(name for n in count(1) if partition_of_group(name := f"{stem}-{n}-readers", partitions) == partition)


_ANSWER_SECONDS = 5.0
_COMMIT_SECONDS = 10.0


@dataclass(frozen=True)
class Groups:
    """`by_partition` is {offsets partition: name of the group}."""

    access: LabClient
    by_partition: dict[int, str]
    topic: str

    def coordinator(self, partition: int, via: int) -> tuple[int, int]:
        """Returns error code and coordinator as broker `via` reports them; no answer counts as not available."""
        request = group_messages.find_coordinator(self.by_partition[partition])
        try:
            found = ask(self.access.addresses()[via], request, _ANSWER_SECONDS)
        except (UnreachableError, KeyError):
            return COORDINATOR_NOT_AVAILABLE, -1
        return found.error, found.broker

    def coordinator_address(self, partition: int, via: int) -> str:
        """Returns HOST:PORT of the coordinator, as broker `via` reports it; "" if it does not answer."""
        request = group_messages.find_coordinator(self.by_partition[partition])
        try:
            found = ask(self.access.addresses()[via], request, _ANSWER_SECONDS)
        except (UnreachableError, KeyError):
            return ""
        return str(found.endpoint)

    def commit(self, partition: int, offsets: Mapping[TopicPartition, int]) -> int:
        """Returns the error code of one commit at the group's coordinator."""
        error, broker = self.coordinator(partition, self._answering())
        if error:
            return error
        stored = {where: StoredOffset(offset) for where, offset in offsets.items()}
        request = group_messages.offset_commit(self.by_partition[partition], stored)
        try:
            return ask(self.access.addresses()[broker], request, _COMMIT_SECONDS).error
        except UnreachableError:
            return COORDINATOR_NOT_AVAILABLE

    def works(self, partition: int) -> bool:
        """Returns whether the group finds its coordinator and reads its committed offsets there."""
        error, broker = self.coordinator(partition, self._answering())
        if error:
            return False
        error, count = self.fetch(partition, broker)
        return error == 0 and count > 0

    def refused(self, partition: int, where: TopicPartition) -> bool:
        """Returns whether the coordinator refuses the stable offset of `where`, since a transaction holds it."""
        error, broker = self.coordinator(partition, self._answering())
        if error:
            return False
        request = group_messages.stable_offset_fetch(self.by_partition[partition], (where,))
        error, offsets = ask(self.access.addresses()[broker], request, _ANSWER_SECONDS)
        return error == 0 and offsets[where].error == UNSTABLE_OFFSET_COMMIT

    def fetch(self, partition: int, broker: int) -> tuple[int, int]:
        """Returns error code and number of committed offsets, as one broker answers."""
        request = group_messages.offset_fetch(self.by_partition[partition])
        try:
            error, offsets = ask(self.access.addresses()[broker], request, _ANSWER_SECONDS)
        except UnreachableError:
            return COORDINATOR_NOT_AVAILABLE, 0
        return error, sum(each.offset >= 0 for each in offsets.values())

    def commit_all(self, offsets: Mapping[TopicPartition, int]) -> None:
        for partition, group in self.by_partition.items():
            # A coordinator that has just become leader still loads its partition for a moment.
            wait_for(f"group {group} commits", lambda number=partition: self.commit(number, offsets) == 0, 30)  # type: ignore[misc]

    def _answering(self) -> int:
        for broker in sorted(self.access.live_ids()):
            if self.access.metadata(broker) is not None:
                return broker
        return -1
