"""The lab's client of a cluster: topics and records through confluent-kafka, and the record that the cluster keeps.

What keeps the record differs: `zookeeper.py` reads and changes it in ZooKeeper, `quorum.py` through the brokers.
Only those two, this file, `confluent.py` and `workload.py` import a client library; all are imported late, so that
`import kfix.lab` stays light.
"""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import ElectionType, KafkaException
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.cimpl import NewTopic

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import LabError, UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.codec import encoder
from kfix.core.kafka.group_records import OFFSET_KEY, OFFSET_VALUE
from kfix.core.snapshot.quorum import ELR_FEATURE
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.asking import ask, fetch_quota
from kfix.lab.clients.asking_controllers import set_feature
from kfix.lab.clients.confluent import RecordClient
from kfix.lab.clients.membership import consumer_groups_at, reset_members
from kfix.lab.definition.state import LabBaseline
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet
    from types import TracebackType

    from kfix.core.kafka.metadata import MetadataResponse
    from kfix.lab.definition.state import Assignment

_NO_LEADER_YET = -1
_QUOTA_SECONDS = 5.0
# Right after a start some brokers may not know the controller, nor the controller all brokers.
_CREATE_AGAIN = {
    "_TIMED_OUT",
    "REQUEST_TIMED_OUT",
    "NOT_CONTROLLER",
    "_TRANSPORT",
    "INVALID_REPLICATION_FACTOR",
    "INVALID_REPLICA_ASSIGNMENT",
    "_ALL_BROKERS_DOWN",
    "UNKNOWN",
}


@dataclass(frozen=True)
class RecordedState:
    """`eligible` and `last_known` are the eligible leader replicas and the last known leaders of Kafka 4."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    eligible: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()

    @property
    def heirs(self) -> tuple[int, ...]:
        """Returns the replicas of which one may lead without data loss, dead or alive."""
        return self.isr or self.eligible or self.last_known


class Znodes(ABC):
    """The record in ZooKeeper, edited behind the controller's back. KRaft has no such thing."""

    @abstractmethod
    def forge_state(self, topic: str, partition: int, leader: int, isr: tuple[int, ...]) -> None:
        """Writes the state as a superseded controller did. The controller does not watch this znode."""

    @abstractmethod
    def poke(self, topic: str, partition: int) -> None:
        """Notifies the controller of an ISR change as a leader before 2.7 did. It then updates all brokers."""

    @abstractmethod
    def erase_topic(self, topic: str) -> None:
        """Removes a topic whose deletion waits for a replica on a broker that will not come back."""

    @abstractmethod
    def drop_controller(self) -> None: ...

    @abstractmethod
    def drop_reassignment(self) -> None: ...

    @abstractmethod
    def migration(self) -> dict[str, Any] | None:
        """Returns the content of `/migration`, which a KRaft controller writes in a migration; None without it."""

    @abstractmethod
    def drop_migration(self, *, controller: bool) -> None:
        """Removes `/migration`, and `/controller` if it is that of a KRaft controller, which is never removed alone."""

    @abstractmethod
    def erase(self, path: str) -> bool:
        """Removes a znode with all below it; returns whether there was one."""

    @abstractmethod
    def cluster_id(self) -> str: ...


class LabClient(RecordClient):
    #: None on KRaft.
    znodes: Znodes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    # --- the record of the cluster --------------------------------------------------------------------------------

    def are_gone(self, brokers: AbstractSet[int]) -> bool:
        """Returns whether none of these brokers is registered any more."""
        return not self.live_ids() & brokers

    @abstractmethod
    def controller(self) -> int | None:
        """Returns the id of the active controller."""

    @abstractmethod
    def taker(self) -> int | None:
        """Returns the broker that takes changes: the controller, or one that forwards them to it."""

    @abstractmethod
    def topics(self) -> tuple[str, ...]: ...

    @abstractmethod
    def assignment(self, topic: str) -> Assignment: ...

    @abstractmethod
    def being_reassigned(self, topic: str) -> bool: ...

    @abstractmethod
    def states(self, topics: Iterable[str] | None = None) -> dict[TopicPartition, RecordedState | None]: ...

    @abstractmethod
    def configs(self, kind: str) -> dict[str, dict[str, str]]:
        """Returns the dynamic configs of all `topics` or `brokers` (`kind`), without those that have none."""

    @abstractmethod
    def pending_deletions(self) -> tuple[str, ...]: ...

    @abstractmethod
    def write_config(self, kind: str, name: str, config: Mapping[str, str]) -> None:
        """Replaces the dynamic config of a topic or a broker."""

    @abstractmethod
    def forget(self, broker: int) -> None:
        """Removes what the record still has of a dead broker that will not come back."""

    @abstractmethod
    def delete_topic(self, topic: str) -> None:
        """Begins the deletion of a topic."""

    @abstractmethod
    def reassign(self, targets: Mapping[TopicPartition, tuple[int, ...]], seconds: float = 40.0) -> None:
        """Returns when the reassignment has ended."""

    def state(self, topic: str, partition: int) -> RecordedState | None:
        return self.states([topic]).get(TopicPartition(topic, partition))

    def baseline(self, brokers: Iterable[int]) -> LabBaseline:
        topics = {topic: self.assignment(topic) for topic in self.topics()}
        return LabBaseline(tuple(brokers), topics, self.configs("topics"), self.configs("brokers"))

    # --- through the brokers --------------------------------------------------------------------------------------

    def metadata(self, broker: int) -> MetadataResponse | None:
        """Returns None if the broker does not answer: one that is starting, stopped or dead is not an error here."""
        try:
            return ask(self.addresses()[broker], requests.metadata(), 2.0)
        except (UnreachableError, KeyError):
            return None

    def create_topic(
        self,
        topic: str,
        assignment: list[list[int]],
        config: Mapping[str, str],
        known_to: Iterable[int] | None = None,
    ) -> None:
        """Returns when all brokers, or those of `known_to`, know the leaders: behind a cut link a broker does not."""
        new = NewTopic(topic, num_partitions=len(assignment), replica_assignment=assignment, config=dict(config))

        admin = self.admin()  # must outlive its futures

        def created() -> bool:
            try:
                admin.create_topics([new], operation_timeout=10, request_timeout=10)[topic].result()
            except KafkaException as problem:
                name = problem.args[0].name()
                if name not in _CREATE_AGAIN | {"TOPIC_ALREADY_EXISTS"}:
                    raise LabError(f"topic {topic} cannot be created: {problem.args[0].str()}") from problem
                # A timed-out attempt may have succeeded.
                return bool(name == "TOPIC_ALREADY_EXISTS")
            return True

        wait_for(f"topic {topic} is created", created, 40)
        wait_for(
            f"every partition of {topic} has a leader",
            lambda: self._has_leaders(topic, len(assignment), known_to),
            20,
        )

    def _has_leaders(self, topic: str, partitions: int, known_to: Iterable[int] | None) -> bool:
        for broker in self.live_ids() if known_to is None else known_to:
            seen = self.metadata(broker)
            if seen is None:
                return False
            leaders = [each.leader for (name, _), each in seen.partitions.items() if name == topic]
            if len(leaders) != partitions or _NO_LEADER_YET in leaders:
                return False
        return True

    def reset_members(self) -> None:
        """Removes the session timeout that was set for groups of the consumer protocol."""
        for address in self.addresses().values():
            for group in consumer_groups_at(address):
                reset_members(address, group)

    def set_elr(self, level: int) -> None:
        """Switches eligible leader replicas off with 0, and on again with 1."""
        taker = self.taker()
        if taker is not None:
            set_feature(self.addresses()[taker], ELR_FEATURE, level)

    def set_quota(self, client: str, rate: int | None) -> None:
        """Limits the bytes per second that a client id may fetch from each broker; None removes the quota."""

        def set_now() -> bool:
            address = self.addresses()[taker] if (taker := self.taker()) is not None else ""
            with contextlib.suppress(UnreachableError):
                return bool(address) and ask(address, fetch_quota(client, rate), _QUOTA_SECONDS) == 0
            return False

        wait_for(f"the quota of client id {client} is set", set_now, 20)

    def write_newer_group(self, partition: int, group: str) -> None:
        """Writes a group of the consumer protocol (KIP-848), which brokers of 2.7 cannot read (docs/facts)."""
        key = encoder("type:i16 group:str").write((3, group))
        value = encoder("version:i16 epoch:i32", flexible=True).write((0, 7))
        self.write_internal(TopicPartition(OFFSETS_TOPIC, partition), [(key, value, 0)])

    def write_commits(
        self, where: TopicPartition, group: str, offsets: Mapping[TopicPartition, int], count: int, hours: int
    ) -> None:
        """Writes commits of these offsets in turn, as a coordinator does, from `hours` hours before the last one on."""
        end = int(time.time() * 1000) - 3_600_000
        rows = []
        for number in range(count):
            (topic, partition), offset = list(offsets.items())[number % len(offsets)]
            at = end - hours * 3_600_000 + hours * 3_600_000 * number // count
            key = encoder(OFFSET_KEY).write((1, group, topic, partition))
            value = encoder(f"version:i16 {OFFSET_VALUE}", 3).write((3, offset, -1, "", at))
            rows.append((key, value, at))
        self.write_internal(where, rows)

    def partition_size(self, broker: int, where: TopicPartition) -> int:
        """Returns the bytes of a replica on its disk."""
        request = requests.describe_log_dirs(with_room=False, tps=(where,))
        _, dirs = ask(self.addresses()[broker], request, 5.0)
        return sum(each.sizes.get(where, 0) for each in dirs)

    def elect(self, partitions: Iterable[TopicPartition], *, unclean: bool) -> None:
        kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
        wanted = [ClientPartition(topic, number) for topic, number in partitions]
        admin = self.admin()
        with contextlib.suppress(KafkaException):  # the caller checks the outcome
            admin.elect_leaders(kind, wanted).result()
