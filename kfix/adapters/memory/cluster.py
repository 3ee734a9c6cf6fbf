"""A small, real Kafka cluster in memory: brokers, ZooKeeper's records, a controller with a memory of its own.

It satisfies `ClusterReader` and `ClusterChanger`, so whatever runs against it runs against a real one; the lab's tests
keep it honest. Time is manual, `cluster.faults` injects failures, `cluster.faults.calls` lists what changed it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Self

from kfix.adapters.memory.controller import MemoryController
from kfix.adapters.memory.faults import NO_ANSWER, Faults
from kfix.adapters.memory.snapshot import snapshot_of
from kfix.adapters.memory.state import Logs, ManualClock, MemoryBroker, Records
from kfix.errors import UnreachableError
from kfix.model.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.model.reading import ChangeResult, PartitionReading
from kfix.model.snapshot import (
    NO_LEADER,
    Assignment,
    ClusterIdentity,
    ControllerNode,
    CoordinatorProbe,
    Endpoint,
    LogEnd,
    Mode,
    PartitionState,
    Snapshot,
    TopicPartition,
)

# A follower rejoins the ISR within a fetch or two; half a second is what the lab's toy clusters show.
_ISR_SECONDS = 0.5


class MemoryCluster:
    """`reader` and `changer` are the cluster itself, so that it can stand in for a live one."""

    def __init__(self, cluster_id: str = "memory-cluster", *, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock()
        self.records = Records(now_ms=int(self.clock.now() * 1000))
        self.brokers: dict[int, MemoryBroker] = {}
        self.logs = Logs()
        self.faults = Faults()
        self.groups: dict[str, int] = {}
        self.loading: dict[int, int] = {}
        self.cluster_id = cluster_id
        self.control = MemoryController(self.records, self.brokers, self.logs)
        self._caught_up_at = self.clock.monotonic()

    @classmethod
    def healthy(
        cls,
        brokers: int = 3,
        *,
        topics: Mapping[str, int] | None = None,
        replication: int = 3,
        groups: Mapping[str, int] | None = None,
        first_id: int = 1,
        cluster_id: str = "memory-cluster",
    ) -> Self:
        """Brokers `first_id`..., one rack each, the first the controller; replicas round robin, all in sync."""
        cluster = cls(cluster_id)
        ids = range(first_id, first_id + brokers)
        for number in ids:
            cluster.add_broker(number, rack=f"az{number}")
        cluster.control.fail_over_to(first_id)
        for topic, partitions in (topics or {OFFSETS_TOPIC: 50, "orders": 6}).items():
            for p in range(partitions):
                order = tuple(ids[(p + k) % brokers] for k in range(min(replication, brokers)))
                cluster.add_partition(TopicPartition(topic, p), order)
        cluster.groups.update(groups or {})
        return cluster

    @property
    def reader(self) -> Self:
        return self

    @property
    def changer(self) -> Self:
        return self

    # -- building it and hurting it

    def add_broker(self, number: int, *, rack: str | None = None) -> None:
        endpoint = Endpoint(f"broker{number}.example", 9092)
        now = int(self.clock.now() * 1000)
        self.brokers[number] = MemoryBroker(number, rack, endpoint, self.records.next_zxid(), now)

    def add_partition(self, tp: TopicPartition, replicas: tuple[int, ...], *, end: int = 100) -> None:
        self.records.assignments[tp] = Assignment(replicas)
        self.records.write_state(tp, replicas[0], 0, replicas)
        self.logs.ends[tp] = {b: LogEnd(0, end) for b in replicas}
        self.control.created(tp)

    def corrupt_state(self, tp: TopicPartition, *, leader: int, isr: tuple[int, ...]) -> None:
        """Somebody writes the state znode behind the controller's back (B4, step 3): nobody notices."""
        old = self.records.states[tp]
        self.records.write_state(tp, leader, old.leader_epoch + 1, isr, old.controller_epoch)

    def kill(self, broker: int) -> None:
        """Dies as by kill -9, and the session expires."""
        self.brokers[broker].alive = False
        self.brokers[broker].leading.clear()
        if self.records.controller == broker:
            self.control.fail_over_to(min(self.control.live, default=None))
        else:
            self.control.died(broker)

    def revive(self, broker: int) -> None:
        node = self.brokers[broker]
        node.alive, node.silent, node.czxid = True, "", self.records.next_zxid()
        if self.records.controller is None:
            self.control.fail_over_to(broker)
        self.control.started(broker)

    def silence(self, broker: int, why: str = "no answer in time") -> None:
        """Registered in ZooKeeper but answering nobody."""
        self.brokers[broker].silent = why

    def advance(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        self._live_on()

    def append(self, tp: TopicPartition, records: int, brokers: tuple[int, ...]) -> None:
        for broker in brokers:
            old = self.logs.ends[tp].get(broker, LogEnd(0, 0))
            self.logs.ends[tp][broker] = LogEnd(old.start, old.end + records)

    def _live_on(self) -> None:
        self.records.now_ms = int(self.clock.now() * 1000)
        if self.clock.monotonic() - self._caught_up_at >= _ISR_SECONDS:
            self._caught_up_at = self.clock.monotonic()
            self.control.catch_up()

    # -- ClusterReader

    def identity(self) -> ClusterIdentity:
        return ClusterIdentity(self.cluster_id, Mode.ZOOKEEPER, "broker1.example:9092", "zk1.example:2181")

    def registered_brokers(self) -> frozenset[int]:
        self._reading("registered_brokers", zookeeper=True)
        return self.control.live

    def controller(self) -> ControllerNode:
        self._reading("controller", zookeeper=True)
        return self.controller_node()

    def controller_node(self) -> ControllerNode:
        r = self.records
        return ControllerNode(r.controller, r.elected_ms, r.controller_czxid, r.epoch, r.epoch_version, r.epoch_mzxid)

    def migrating(self) -> bool:
        self._reading("migrating", zookeeper=True)
        return self.records.migrating

    def partition(self, tp: TopicPartition) -> PartitionReading:
        self._reading("partition")
        down = self.faults.unreadable.get("zookeeper")
        views = {b.id: b.views[tp] for b in self.brokers.values() if b.alive and not b.silent and tp in b.views}
        errors = [f"broker {b.id}: {b.silent}" for b in self.brokers.values() if b.alive and b.silent]
        if down is not None:
            return PartitionReading(tp, None, None, None, views, (f"zookeeper: {down}", *errors))
        return PartitionReading(
            tp, self.state(tp), self.records.assignments.get(tp), self.control.live, views, tuple(errors)
        )

    def recorded(self, tp: TopicPartition) -> PartitionReading:
        reading = self.partition(tp)
        return replace(reading, views={}, errors=tuple(e for e in reading.errors if e.startswith("zookeeper")))

    def state(self, tp: TopicPartition) -> PartitionState | None:
        return self.records.states.get(tp)

    def reassignments(self) -> Mapping[TopicPartition, Assignment]:
        self._reading("reassignments")
        return {tp: a for tp, a in self.records.assignments.items() if a.adding or a.removing}

    def partition_count(self, topic: str) -> int | None:
        self._reading("partition_count")
        return sum(tp.topic == topic for tp in self.records.assignments) or None

    def probe_group(self, group: str) -> CoordinatorProbe:
        self._reading("probe_group")
        count = sum(tp.topic == OFFSETS_TOPIC for tp in self.records.assignments)
        tp = TopicPartition(OFFSETS_TOPIC, partition_of_group(group, max(count, 1)))
        asked = next((b for b in self.brokers.values() if b.alive and not b.silent), None)
        if asked is None:
            return CoordinatorProbe(group, tp.partition, -1, None, None, error="no broker answers")
        view = asked.views.get(tp)
        if view is None or view.leader == NO_LEADER or view.error:
            return CoordinatorProbe(group, tp.partition, 15, None, None)
        return self._fetch(group, tp, view.leader)

    def _fetch(self, group: str, tp: TopicPartition, coordinator: int) -> CoordinatorProbe:
        broker = self.brokers[coordinator]
        if not broker.alive or broker.silent:
            return CoordinatorProbe(
                group, tp.partition, 0, coordinator, -1, error=broker.silent or "connection refused"
            )
        if tp not in broker.leading:
            return CoordinatorProbe(group, tp.partition, 0, coordinator, 16)
        if self.loading.get(tp.partition, 0) > 0:
            self.loading[tp.partition] -= 1
            return CoordinatorProbe(group, tp.partition, 0, coordinator, 14)
        return CoordinatorProbe(group, tp.partition, 0, coordinator, 0, self.groups.get(group))

    def log_ends(self, tp: TopicPartition, brokers: tuple[int, ...]) -> Mapping[int, LogEnd]:
        self._reading("log_ends")
        found = {}
        for number in brokers:
            broker = self.brokers.get(number)
            if broker is None or not broker.alive or broker.silent:
                found[number] = LogEnd(-1, -1, "no answer")
            else:
                found[number] = self.logs.ends[tp].get(number, LogEnd(-1, -1, "no such replica"))
        return found

    def snapshot(self) -> Snapshot:
        return snapshot_of(self)

    def _reading(self, method: str, *, zookeeper: bool = False) -> None:
        self._live_on()
        self.faults.reading(method)
        if zookeeper and "zookeeper" in self.faults.unreadable:
            raise UnreachableError(f"zookeeper: {self.faults.unreadable['zookeeper']}")

    # -- ClusterChanger

    def elect(self, tp: TopicPartition, *, unclean: bool) -> ChangeResult:
        return self._change("elect", (tp, unclean), lambda: self.control.elect(tp, unclean=unclean))

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> ChangeResult:
        return self._change("reassign", (tp, replicas), lambda: self.control.reassign(tp, replicas))

    def reelect_controller(self, *, epoch_version: int) -> ChangeResult:
        return self._change("reelect_controller", (epoch_version,), lambda: self._reelect(epoch_version))

    def _change(self, method: str, args: tuple[object, ...], act: Callable[[], ChangeResult]) -> ChangeResult:
        self._live_on()
        if method != "reelect_controller" and self.records.controller is None:
            act = _nobody_answers
        return self.faults.changing(method, args, act)

    def _reelect(self, epoch_version: int) -> ChangeResult:
        """Nobody can choose the winner; here it is the lowest live id that was not the controller."""
        if epoch_version != self.records.epoch_version:
            return ChangeResult(1, "BadVersionError", "another controller was elected meanwhile; nothing was deleted")
        others = self.control.live - {self.records.controller}
        self.control.fail_over_to(min(others or self.control.live, default=None))
        return ChangeResult(0, "NONE")


def _nobody_answers() -> ChangeResult:
    return NO_ANSWER
