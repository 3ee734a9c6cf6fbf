"""A small Kafka cluster in memory: brokers, ZooKeeper's records, and a controller with its own memory.

It satisfies `ClusterReader` and `ClusterChanger`, so code that runs against it runs against a real one; the lab's tests
compare the two. Time is manual, `cluster.faults` injects failures, `cluster.faults.calls` lists what changed it.
`cluster.lock` is its `ClusterLock`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Concatenate, ParamSpec, Self, TypeVar

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.versions import LEVELS, Line, VersionRule, line_of
from kfix.core.errors import UnreachableError
from kfix.core.snapshot.load_conflicts import KeyLeft
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.reading import (
    BrokerRegistration,
    ChangeResult,
    ConfigValue,
    NodeLevels,
    NodeName,
    NodeRole,
    PartitionReading,
    ResourceKind,
    StartMark,
)
from kfix.core.snapshot.recovery import MISSING, AppliedMetadata, CopyRead, NewLog
from kfix.core.snapshot.snapshot import (
    Assignment,
    ControllerNode,
    Endpoint,
    LogEnd,
    Snapshot,
    TopicPartition,
)
from kfix.core.snapshot.transactions import OpenBatch
from kfix.core.snapshot.voters import Joining, QuorumVoters
from kfix.heal.memory import answers, transactions
from kfix.heal.memory.configs import UNCLEAN
from kfix.heal.memory.faults import NO_ANSWER, MemoryLock
from kfix.heal.memory.moves import Moves
from kfix.heal.memory.parts import MemoryParts
from kfix.heal.memory.snapshot import snapshot_of
from kfix.heal.memory.state import ManualClock, MemoryBroker

P = ParamSpec("P")
T = TypeVar("T")

# A follower rejoins the ISR within a fetch or two; on the lab's small clusters that takes half a second.
_ISR_SECONDS = 0.5


def _asked(
    answer: Callable[Concatenate[MemoryParts, P], T], method: str, *, recorded: bool = False
) -> Callable[Concatenate[MemoryCluster, P], T]:
    """Returns the method of the reader that gives this answer."""

    def read(cluster: MemoryCluster, /, *args: P.args, **more: P.kwargs) -> T:
        cluster.being_read(method, recorded=recorded)
        return answer(cluster, *args, **more)

    return read


class MemoryCluster(MemoryParts):
    """`reader` and `changer` are the cluster itself, so that it can stand in for a live one.

    `copy_seconds` is the time that an added replica takes without a throttle; 0: it is in sync at its next fetch.
    """

    release: Line = (2, 7)

    def __init__(self, cluster_id: str = "memory-cluster", *, clock: ManualClock | None = None) -> None:
        super().__init__(cluster_id, clock=clock)
        self.moves = Moves(self.control)
        self.copy_seconds = 0.0
        self.lock = MemoryLock(cluster_id)
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
        racks: Mapping[int, str] | None = None,
    ) -> Self:
        """Returns a cluster of brokers `first_id`..., the first of which is the controller.

        Each broker has its own rack unless `racks` gives one. Replicas are placed round robin and are in sync.
        """
        cluster = cls(cluster_id)
        ids = range(first_id, first_id + brokers)
        for number in ids:
            cluster.add_broker(number, rack=(racks or {}).get(number, f"az{number}"))
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

    def add_broker(self, number: int, *, rack: str | None = None) -> None:
        endpoint = Endpoint(f"broker{number}.example", 9092)
        self.brokers[number] = MemoryBroker(number, rack, endpoint)
        self._register(self.brokers[number])
        if self.records.controller is not None:
            self.control.started(number)

    def _register(self, node: MemoryBroker) -> None:
        node.czxid = self.records.members_zxid = self.records.next_zxid()
        node.registered_ms = int(self.clock.now() * 1000)

    def remove_broker(self, number: int) -> None:
        """Kills a broker for good, as a restart with an empty disk and another broker.id does."""
        self.kill(number)
        del self.brokers[number]
        for ends in self.logs.ends.values():
            ends.pop(number, None)

    def add_partition(self, tp: TopicPartition, replicas: tuple[int, ...], *, end: int = 100) -> None:
        self.records.assignments[tp] = Assignment(replicas)
        self.records.write_state(tp, replicas[0], 0, replicas)
        for broker in replicas:
            self.logs.write(tp, broker, LogEnd(0, end), 0)
        self.control.created(tp)

    def corrupt_state(self, tp: TopicPartition, *, leader: int, isr: tuple[int, ...]) -> None:
        """Writes the state znode behind the controller's back: no process watches it (docs/facts/controller.md)."""
        old = self.records.states[tp]
        self.records.write_state(tp, leader, old.leader_epoch + 1, isr, old.controller_epoch)

    def phantom_leader(self, tp: TopicPartition, *, leader: int) -> None:
        """Writes the state and notifies the controller: all brokers name a leader that never received LeaderAndIsr.

        FindCoordinator names it, and it answers OffsetFetch with 16. A no-op reassignment or another leader heals it
        (docs/facts/controller.md).
        """
        old = self.records.states[tp]
        for broker in self.brokers.values():
            broker.leading.pop(tp, None)
        self.records.write_state(tp, leader, old.leader_epoch + 1, old.isr)
        self.control.poked(tp)

    def kill(self, *brokers: int) -> None:
        """Kills brokers at the same moment, as kill -9 does; their sessions have expired on return."""
        for broker in brokers:
            self.brokers[broker].alive = False
            self.brokers[broker].leading.clear()
            self.records.members_zxid = self.records.next_zxid()
        if self.records.controller in brokers:
            self.control.fail_over_to(min(self.control.live, default=None))
        else:
            self.control.died(*brokers)

    def revive(self, broker: int) -> None:
        node = self.brokers[broker]
        node.alive, node.silent = True, ""
        self._register(node)
        if self.records.controller is None:
            self.control.fail_over_to(broker)
        self.control.started(broker)

    def silence(self, broker: int, why: str = "no answer in time") -> None:
        """Makes a broker stay registered in ZooKeeper without answering."""
        self.brokers[broker].silent = why

    def advance(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        self._live_on()

    def append(self, tp: TopicPartition, records: int, brokers: tuple[int, ...], *, epoch: int | None = None) -> None:
        """`epoch` is the leader epoch of the new records; None keeps the last record's."""
        for broker in brokers:
            old = self.logs.end(tp, broker) or LogEnd(0, 0)
            last = max(0, self.logs.epoch(tp, broker)) if epoch is None else epoch
            self.logs.write(tp, broker, LogEnd(old.start, old.end + records), last)

    def _live_on(self) -> None:
        self.records.now_ms = int(self.clock.now() * 1000)
        passed = self.clock.monotonic() - self._caught_up_at
        if passed >= _ISR_SECONDS:
            self._caught_up_at = self.clock.monotonic()
            self.moves.catch_up(passed, self.copy_seconds)
            for group, pace in self.pace.items():
                for tp, each in self.committed[group].items():
                    end = max(log.end for log in self.logs.ends[tp].values())
                    self.committed[group][tp] = each._replace(offset=min(each.offset + int(passed * pace), end))

    def registered_brokers(self) -> frozenset[int]:
        self.being_read("registered_brokers", recorded=True)
        return self.control.live

    def registration(self, broker: int) -> BrokerRegistration:
        raise UnreachableError(f"broker {broker}: with ZooKeeper its registration ends with its session")

    def controller(self) -> ControllerNode:
        self.being_read("controller", recorded=True)
        return self.controller_node()

    def migrating(self) -> bool:
        self.being_read("migrating", recorded=True)
        return self.records.migrating

    probe_group = _asked(answers.probe_group, "probe_group")
    log_ends = _asked(answers.log_ends, "log_ends")
    log_tails = _asked(answers.log_tails, "log_tails")
    log_dirs = _asked(answers.log_dirs, "log_dirs")
    stable_end = _asked(answers.stable_end, "stable_end", recorded=True)
    logged_record = _asked(answers.logged_record, "logged_record", recorded=True)
    group = _asked(answers.group, "group")
    group_members = _asked(answers.group_members, "group")
    last_generation = _asked(answers.last_generation, "group")
    offsets_replay = _asked(answers.offsets_replay, "offsets_replay", recorded=True)
    transaction = _asked(transactions.state_since, "transaction", recorded=True)
    open_batch = _asked(transactions.open_batch, "open_batch", recorded=True)
    hanging = _asked(transactions.hangs, "hanging", recorded=True)
    partition = _asked(answers.reading, "partition")

    def recorded(self, tp: TopicPartition) -> PartitionReading:
        reading = self.partition(tp)
        return replace(reading, views={}, errors=tuple(e for e in reading.errors if e.startswith(self.authority)))

    def every_partition(self) -> Mapping[TopicPartition, PartitionReading]:
        self.being_read("every_partition", recorded=True)
        return {tp: answers.reading(self, tp) for tp in self.records.assignments}

    def reassignments(self) -> Mapping[TopicPartition, Assignment]:
        self.being_read("reassignments")
        return {tp: a for tp, a in self.records.assignments.items() if a.adding or a.removing}

    def partition_count(self, topic: str) -> int | None:
        self.being_read("partition_count")
        return sum(tp.topic == topic for tp in self.records.assignments) or None

    def assignments(self, topic: str) -> Mapping[TopicPartition, Assignment]:
        self.being_read("assignments", recorded=True)
        return {tp: a for tp, a in self.records.assignments.items() if tp.topic == topic}

    def configs(self, kind: ResourceKind, name: str, keys: tuple[str, ...]) -> Mapping[str, ConfigValue]:
        self.being_read("configs")
        return {key: value for key, value in self.settings.read(kind, name).items() if key in keys}

    def follows(self, rule: VersionRule, broker: int) -> bool:
        self.being_read("follows")
        if not self.brokers[broker].alive:
            raise UnreachableError(f"broker {broker} does not answer")
        return self.release >= rule.since

    def key_left(self, tp: TopicPartition, key: bytes, first: int) -> Mapping[int, KeyLeft]:  # noqa: ARG002
        self.being_read("key_left", recorded=True)
        return answers.key_left(self, tp, key)

    def served_to(self, tp: TopicPartition, offset: int) -> int:
        self.being_read("served_to", recorded=True)
        return max(offset, answers.stable_end(self, tp).stable)

    def records_left(self, tp: TopicPartition, offset: int) -> bool:
        self.being_read("records_left", recorded=True)
        return offset < answers.stable_end(self, tp).high_watermark

    def applied(self) -> AppliedMetadata:
        raise UnreachableError("a cluster with ZooKeeper has no metadata log")

    def voters(self) -> QuorumVoters:
        raise UnreachableError("a cluster with ZooKeeper has no voters")

    def metadata_levels(self) -> Mapping[NodeName, NodeLevels]:
        raise UnreachableError("a cluster with ZooKeeper has no metadata.version")

    def metadata_copies(self, folders: tuple[str, ...]) -> tuple[CopyRead, ...]:
        self.being_read("metadata_copies")
        return tuple(self.disks.get(each, CopyRead(each, unread=MISSING)) for each in folders)

    def start_mark(self) -> StartMark:
        self.being_read("start_mark", recorded=True)
        return StartMark(self.records.zxid)

    def starts_since(self, mark: StartMark) -> Mapping[NodeName, int]:
        self.being_read("starts_since", recorded=True)
        found = {(NodeRole.BROKER, b.id): b.czxid for b in self.brokers.values() if b.alive}
        found |= {(NodeRole.CONTROLLER, node): at for node, at in self.controllers.items()}
        return {node: at for node, at in found.items() if at > mark.number}

    def restart_command(self) -> str:
        return self.site_command

    def upgrade_command(self) -> str:
        return self.site_upgrade

    def snapshot(self) -> Snapshot:
        self.being_read("snapshot")
        return snapshot_of(self, self)

    def being_read(self, method: str, *, recorded: bool = False) -> None:
        self._live_on()
        self.faults.reading(method)
        if recorded and self.authority in self.faults.unreadable:
            raise UnreachableError(f"{self.authority}: {self.faults.unreadable[self.authority]}")

    def elect(self, tp: TopicPartition, *, unclean: bool) -> ChangeResult:
        return self._change("elect", (tp, unclean), lambda: self.control.elect(tp, unclean=unclean))

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> ChangeResult:
        return self._change("reassign", (tp, replicas), lambda: self.moves.reassign(tp, replicas))

    def reelect_controller(self, *, epoch_version: int) -> ChangeResult:
        return self._change("reelect_controller", (epoch_version,), lambda: self._reelect(epoch_version))

    def alter_configs(self, kind: ResourceKind, name: str, changes: Mapping[str, str | None]) -> ChangeResult:
        args = (kind, name, tuple(sorted(changes.items())))
        return self._change("alter_configs", args, lambda: self._alter(kind, name, changes))

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, StoredOffset | None]) -> ChangeResult:
        args = (group, tuple(sorted(offsets.items())))
        return self._change("commit_offsets", args, lambda: answers.commit_offsets(self, group, offsets))

    def evict_member(self, group: str, member: str, instance: str) -> ChangeResult:
        args = (group, member, instance)
        return self._change("evict_member", args, lambda: answers.evict_member(self, group, member, instance))

    def abort_transaction(self, transactional_id: str, producer: int, epoch: int, timeout_ms: int) -> ChangeResult:
        args = (transactional_id, producer, epoch)
        return self._change("abort_transaction", (*args, timeout_ms), lambda: transactions.abort(self, *args))

    def end_transaction(
        self, tp: TopicPartition, transactional_id: str, batch: OpenBatch, *, commit: bool
    ) -> ChangeResult:
        args = (tp, transactional_id, batch, commit)
        return self._change("end_transaction", args, lambda: transactions.end(self, tp, batch))

    def unregister_broker(self, broker: int) -> ChangeResult:
        return self._change("unregister_broker", (broker,), lambda: self._unregister(broker))

    def remove_voter(self, node: int, directory: str) -> ChangeResult:
        return self._change("remove_voter", (node, directory), lambda: self._remove_voter(node, directory))

    def add_voter(self, wanted: Joining) -> ChangeResult:
        return self._change("add_voter", (wanted,), lambda: self._add_voter(wanted))

    def _remove_voter(self, _node: int, _directory: str) -> ChangeResult:
        return ChangeResult(41, "NOT_SENT", "a cluster with ZooKeeper has no voters")

    def _add_voter(self, _wanted: Joining) -> ChangeResult:
        return ChangeResult(41, "NOT_SENT", "a cluster with ZooKeeper has no voters")

    def write_metadata_log(self, wanted: NewLog) -> ChangeResult:
        return self._change("write_metadata_log", (wanted,), lambda: self._write_log(wanted))

    def raise_metadata_version(self, level: int) -> ChangeResult:
        return self._change("raise_metadata_version", (level,), lambda: self._raise_level(level))

    def _raise_level(self, _level: int) -> ChangeResult:
        return ChangeResult(41, "NOT_SENT", "a cluster with ZooKeeper has no metadata.version")

    def _write_log(self, _wanted: NewLog) -> ChangeResult:
        return ChangeResult(41, "NOT_SENT", "a cluster with ZooKeeper has no metadata log")

    def _unregister(self, _broker: int) -> ChangeResult:
        return ChangeResult(41, "NOT_SENT", "with ZooKeeper the registration of a broker ends with its session")

    def restart_node(self, role: NodeRole, node: int, template: str, version: str = "") -> ChangeResult:
        sent = (role, node, template, version) if version else (role, node, template)
        return self._change("restart_node", sent, lambda: self._restart(role, node, template, version))

    def _restart(self, role: NodeRole, node: int, template: str, version: str) -> ChangeResult:
        if template != (self.site_upgrade if version else self.site_command):
            return ChangeResult(41, "NOT_SENT", f"{template!r} is not the command of the inventory")
        if version:
            self.levels[node] = LEVELS[line_of(version) or (0, 0)]
        if role is NodeRole.CONTROLLER:
            self.controllers[node] = self.records.next_zxid()
            if self.records.controller == node:
                self.records.controller = min(self.controllers.keys() - {node})
            return ChangeResult(0, "NONE")
        self.shut_down(node)
        self.revive(node)
        return ChangeResult(0, "NONE")

    def shut_down(self, *brokers: int) -> None:
        self.kill(*brokers)

    def delete_key(self, tp: TopicPartition, key: bytes) -> ChangeResult:
        return self._change("delete_key", (tp, key), lambda: answers.delete_key(self, tp, key))

    def _change(self, method: str, args: tuple[object, ...], act: Callable[[], ChangeResult]) -> ChangeResult:
        self._live_on()
        unsent = self._unsent(method)
        if unsent is not None:
            return unsent
        if method in ("elect", "reassign") and self.records.controller is None:
            act = lambda: NO_ANSWER  # noqa: E731
        return self.faults.changing(method, args, act)

    def _unsent(self, _method: str) -> ChangeResult | None:
        """Returns why a change is not sent at all; None if it may be sent."""
        return None

    def _alter(self, kind: ResourceKind, name: str, changes: Mapping[str, str | None]) -> ChangeResult:
        result = self.settings.alter(kind, name, changes)
        if result.accepted and changes.get(UNCLEAN) == "true":
            if kind is ResourceKind.TOPIC:
                self.control.unclean_enabled(name)
            elif name == str(self.records.controller):
                self.control.unclean_enabled()
        return result

    def _reelect(self, epoch_version: int) -> ChangeResult:
        """Elects a controller. Kafka's choice is open; here it is the lowest live id that was not the controller."""
        if epoch_version != self.records.epoch_version:
            return ChangeResult(1, "BadVersionError", "another controller was elected meanwhile; nothing was deleted")
        others = self.control.live - {self.records.controller}
        self.control.fail_over_to(min(others or self.control.live, default=None))
        return ChangeResult(0, "NONE")
