"""The lab's client of a cluster: ZooKeeper through kazoo, topics and records through confluent-kafka.

Only this file, `confluent.py` and `workload.py` import a client library; all are imported late, so that
`import kfix.lab` stays light.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import ElectionType, KafkaException
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from kfix.adapters.kafka import requests, resources, responses
from kfix.adapters.kafka.codec import Writer
from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.errors import LabError, UnreachableError
from kfix.lab.clients.asking import ask
from kfix.lab.clients.confluent import (
    QUIET,
    hang_transaction,
    produce,
    produce_error,
    readable,
    take_over,
    transact,
    write_internal,
    write_internal_rows,
)
from kfix.lab.definition.state import LabBaseline
from kfix.lab.waiting import wait_for
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kfix.adapters.kafka.responses import MetadataResponse
    from kfix.lab.definition.state import Assignment

_REASSIGN = "/admin/reassign_partitions"
_NO_LEADER_YET = -1
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

# A server that has lost its quorum closes the connection, and the client tries another one.
_PATIENTLY = KazooRetry(max_tries=-1, delay=0.05, max_delay=0.5, deadline=15, ignore_expire=False)


@dataclass(frozen=True)
class RecordedState:
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]


class LabClient:
    def __init__(self, zookeeper_connect: str, addresses: Callable[[], Mapping[int, str]]) -> None:
        self.addresses = addresses  # read again each time: brokers may be added and removed while a connection is open
        quiet = logging.getLogger("kfix.lab.kazoo")
        quiet.setLevel(logging.CRITICAL)
        self._zk = KazooClient(hosts=zookeeper_connect, timeout=10.0, logger=quiet)

    def __enter__(self) -> Self:
        try:
            with warnings.catch_warnings():
                # While a lab starts, the first broker has not created the chroot yet.
                warnings.filterwarnings("ignore", "No chroot path exists")
                self._zk.start(timeout=15)
        except (KazooTimeoutError, KazooException) as problem:
            self.__exit__()
            raise LabError(f"ZooKeeper does not answer: {problem}", hint="kfix lab status") from problem
        return self

    def __exit__(self, *_: object) -> None:
        self._zk.stop()
        self._zk.close()

    # --- from ZooKeeper -------------------------------------------------------------------------------------------

    def live_ids(self) -> frozenset[int]:
        return frozenset(int(each) for each in self._children("/brokers/ids"))

    def controller(self) -> int | None:
        raw = self._read("/controller")
        return int(raw["brokerid"]) if raw else None

    def topics(self) -> tuple[str, ...]:
        return tuple(sorted(self._children("/brokers/topics")))

    def assignment(self, topic: str) -> Assignment:
        raw = self._read(f"/brokers/topics/{topic}") or {"partitions": {}}
        return {
            int(number): tuple(replicas)
            for number, replicas in sorted(raw["partitions"].items(), key=lambda kv: int(kv[0]))
        }

    def being_reassigned(self, topic: str) -> bool:
        raw = self._read(f"/brokers/topics/{topic}") or {}
        return bool(raw.get("adding_replicas") or raw.get("removing_replicas"))

    def state(self, topic: str, partition: int) -> RecordedState | None:
        raw = self._read(_state_path(topic, partition))
        return RecordedState(raw["leader"], raw["leader_epoch"], tuple(raw["isr"])) if raw else None

    def states(self, topics: Iterable[str] | None = None) -> dict[TopicPartition, RecordedState | None]:
        chosen = self.topics() if topics is None else topics
        found = (TopicPartition(topic, number) for topic in chosen for number in self.assignment(topic))
        return {where: self.state(*where) for where in found}

    def baseline(self, brokers: Iterable[int]) -> LabBaseline:
        topics = {topic: self.assignment(topic) for topic in self.topics()}
        return LabBaseline(tuple(brokers), topics, self.configs("topics"), self.configs("brokers"))

    def configs(self, kind: str) -> dict[str, dict[str, str]]:
        """Returns the dynamic configs of all `topics` or `brokers` (`kind`), without those that have none."""
        found = {
            name: (self._read(f"/config/{kind}/{name}") or {}).get("config", {})
            for name in self._children(f"/config/{kind}")
        }
        return {name: config for name, config in found.items() if config}

    def pending_deletions(self) -> tuple[str, ...]:
        return tuple(self._children("/admin/delete_topics"))

    # --- changes through the znodes that Kafka's own tools write ------------------------------------------------

    def forge_state(self, topic: str, partition: int, leader: int, isr: tuple[int, ...]) -> None:
        """Writes the state as a superseded controller did. The controller does not watch this znode."""
        path = _state_path(topic, partition)
        data, stat = self._zk.get(path)
        state = json.loads(data)
        state |= {"leader": leader, "leader_epoch": state["leader_epoch"] + 1, "isr": list(isr)}
        self._zk.set(path, json.dumps(state).encode(), version=stat.version)

    def poke(self, topic: str, partition: int) -> None:
        """Notifies the controller of an ISR change as a leader before 2.7 did. It then updates all brokers."""
        note = {"version": 1, "partitions": [{"topic": topic, "partition": partition}]}
        path = "/isr_change_notification/isr_change_"
        self._zk.create(path, json.dumps(note).encode(), sequence=True, makepath=True)

    def reassign(self, targets: Mapping[TopicPartition, tuple[int, ...]], seconds: float = 40.0) -> None:
        entries = [
            {"topic": topic, "partition": number, "replicas": list(ids)}
            for (topic, number), ids in sorted(targets.items())
        ]
        if not entries:
            return
        data = json.dumps({"version": 1, "partitions": entries}).encode()

        def written() -> bool:
            try:
                self._zk.create(_REASSIGN, data, makepath=True)
            except NodeExistsError:
                return False  # the controller still works on another; it takes one at a time
            return True

        wait_for("the earlier reassignment ends", written, seconds)
        wait_for(f"the reassignment of {len(entries)} partitions ends", lambda: not self._zk.exists(_REASSIGN), seconds)

    def write_config(self, kind: str, name: str, config: Mapping[str, str]) -> None:
        path = f"/config/{kind}/{name}"
        data = json.dumps({"version": 1, "config": dict(config)}).encode()
        self._zk.ensure_path(path)
        self._zk.set(path, data)
        # Running brokers apply a change only after a notification.
        note = json.dumps({"version": 2, "entity_path": f"{kind}/{name}"}).encode()
        self._zk.create("/config/changes/config_change_", note, sequence=True, makepath=True)

    def delete_topic(self, topic: str) -> None:
        with contextlib.suppress(NodeExistsError):
            self._zk.create(f"/admin/delete_topics/{topic}", b"", makepath=True)

    def erase_topic(self, topic: str) -> None:
        """Removes a topic whose deletion waits for a replica on a broker that will not come back."""
        for path in (f"/brokers/topics/{topic}", f"/config/topics/{topic}", f"/admin/delete_topics/{topic}"):
            with contextlib.suppress(NoNodeError):
                self._zk.delete(path, recursive=True)

    def drop_controller(self) -> None:
        with contextlib.suppress(NoNodeError):
            self._zk.delete("/controller")

    def drop_reassignment(self) -> None:
        with contextlib.suppress(NoNodeError):
            self._zk.delete(_REASSIGN)

    # --- through the brokers --------------------------------------------------------------------------------------

    def metadata(self, broker: int) -> MetadataResponse | None:
        """Returns None if the broker does not answer: one that is starting, stopped or dead is not an error here."""
        try:
            return ask(self.addresses()[broker], requests.metadata(), responses.metadata, 2.0)
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

    def produce(self, topic: str, records: Mapping[int, list[tuple[str, bytes]]], acks: str = "all") -> None:
        produce(self._bootstrap(), topic, records, acks)

    def produce_error(self, topic: str, partition: int, acks: str) -> str:
        return produce_error(self._bootstrap(), topic, partition, acks)

    def readable(self, topic: str, partition: int) -> bool:
        return readable(self._bootstrap(), topic, partition)

    def transact(self, transactional_id: str, topic: str) -> None:
        transact(self._bootstrap(), transactional_id, topic)

    def hang_transaction(self, transactional_id: str, where: TopicPartition, group: str = "", offset: int = 0) -> None:
        hang_transaction(self._bootstrap(), transactional_id, where, group, offset)

    def take_over(self, transactional_id: str) -> None:
        take_over(self._bootstrap(), transactional_id)

    def write_newer_group(self, partition: int, group: str) -> None:
        """Writes a group of the consumer protocol (KIP-848), which brokers of 2.7 cannot read (docs/facts)."""
        key, value = Writer().i16(3).string(group).done(), Writer().i16(0).i32(7).i8(0).done()
        write_internal(self._bootstrap(), TopicPartition(OFFSETS_TOPIC, partition), key, value)

    def write_commits(
        self, where: TopicPartition, group: str, offsets: Mapping[TopicPartition, int], count: int, hours: int
    ) -> None:
        """Writes commits of these offsets in turn, as a coordinator does, from `hours` hours before the last one on."""
        end = int(time.time() * 1000) - 3_600_000
        rows = []
        for number in range(count):
            (topic, partition), offset = list(offsets.items())[number % len(offsets)]
            at = end - hours * 3_600_000 + hours * 3_600_000 * number // count
            key = Writer().i16(1).string(group).string(topic).i32(partition).done()
            rows.append((key, Writer().i16(3).i64(offset).i32(-1).string("").i64(at).done(), at))
        write_internal_rows(self._bootstrap(), where, rows)

    def partition_size(self, broker: int, where: TopicPartition) -> int:
        """Returns the bytes of a replica on its disk."""
        request = requests.describe_log_dirs(with_room=False, tps=(where,))
        _, dirs = ask(self.addresses()[broker], request, resources.log_dirs, 5.0)
        return sum(each.sizes.get(where, 0) for each in dirs)

    def elect(self, partitions: Iterable[TopicPartition], *, unclean: bool) -> None:
        kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
        wanted = [ClientPartition(topic, number) for topic, number in partitions]
        admin = self.admin()
        with contextlib.suppress(KafkaException):  # the caller checks the outcome
            admin.elect_leaders(kind, wanted).result()

    def admin(self) -> AdminClient:
        return AdminClient({**QUIET, "bootstrap.servers": self._bootstrap()})

    def _bootstrap(self) -> str:
        live = self.live_ids()
        return ",".join(address for broker, address in self.addresses().items() if broker in live)

    def _children(self, path: str) -> list[str]:
        try:
            return list(_PATIENTLY.copy()(self._zk.get_children, path))
        except NoNodeError:
            return []

    def _read(self, path: str) -> dict[str, Any] | None:
        try:
            data, _ = _PATIENTLY.copy()(self._zk.get, path)
        except NoNodeError:
            return None
        return dict(json.loads(data)) if data else None


def _state_path(topic: str, partition: int) -> str:
    return f"/brokers/topics/{topic}/partitions/{partition}/state"
