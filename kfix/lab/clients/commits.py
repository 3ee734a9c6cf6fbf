"""Groups with committed offsets, one in each partition of the offsets topic: do they commit, do they read?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kfix.adapters.kafka import requests, responses
from kfix.errors import UnreachableError
from kfix.lab.clients.asking import ask, committed, offset_commit
from kfix.lab.clients.groups import COORDINATOR_NOT_AVAILABLE
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kfix.lab.clients.access import LabClient
    from kfix.model.cluster.snapshot import TopicPartition

_ANSWER_SECONDS = 5.0
_COMMIT_SECONDS = 10.0


@dataclass(frozen=True)
class Groups:
    """Offsets partition -> name of the group."""

    access: LabClient
    by_partition: dict[int, str]
    topic: str

    def coordinator(self, partition: int, via: int) -> tuple[int, int]:
        """Error code and broker, in the opinion of one broker; no answer counts as not available."""
        request = requests.find_coordinator(self.by_partition[partition])
        try:
            found = ask(self.access.addresses()[via], request, responses.find_coordinator, _ANSWER_SECONDS)
        except (UnreachableError, KeyError):
            return COORDINATOR_NOT_AVAILABLE, -1
        return found.error, found.broker

    def commit(self, partition: int, offsets: Mapping[TopicPartition, int]) -> int:
        """The error code of one commit at the group's coordinator."""
        error, broker = self.coordinator(partition, self._somebody())
        if error:
            return error
        request = offset_commit(self.by_partition[partition], offsets)
        try:
            return ask(self.access.addresses()[broker], request, committed, _COMMIT_SECONDS)
        except UnreachableError:
            return COORDINATOR_NOT_AVAILABLE

    def works(self, partition: int) -> bool:
        """The group finds its coordinator and reads its committed offsets there."""
        error, broker = self.coordinator(partition, self._somebody())
        if error:
            return False
        error, count = self.fetch(partition, broker)
        return error == 0 and count > 0

    def fetch(self, partition: int, broker: int) -> tuple[int, int]:
        """Error code and number of committed offsets, in the answer of one broker to the group."""
        request = requests.offset_fetch(self.by_partition[partition])
        try:
            return ask(self.access.addresses()[broker], request, responses.offset_fetch, _ANSWER_SECONDS)
        except UnreachableError:
            return COORDINATOR_NOT_AVAILABLE, 0

    def commit_all(self, offsets: Mapping[TopicPartition, int]) -> None:
        for partition, group in self.by_partition.items():
            # A coordinator that was just made leader still loads its partition for a moment.
            wait_for(f"group {group} commits", lambda number=partition: self.commit(number, offsets) == 0, 30)  # type: ignore[misc]

    def _somebody(self) -> int:
        for broker in sorted(self.access.live_ids()):
            if self.access.metadata(broker) is not None:
                return broker
        return -1
