"""The answers of single sources of a snapshot, and the replicas of a partition: which are in sync, alive and online."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from kfix.core.derive.background import Background
from kfix.core.derive.elections import UNCLEAN, controller_settings
from kfix.core.derive.partition_facts import listed, offline_alive, standing
from kfix.core.derive.partitions import Partitions
from kfix.core.derive.record import record_of
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import (
    NO_LEADER,
    Assignment,
    BrokerView,
    ControllerNode,
    CoordinatorProbe,
    LogEnd,
    Mode,
    OffsetsLog,
    PartitionState,
    PartitionView,
    Registration,
    Snapshot,
    Source,
    TopicPartition,
    ZooKeeperNode,
)


@dataclass(frozen=True)
class SnapshotAnswers:
    snapshot: Snapshot
    partitions: Partitions
    background: Background

    @cached_property
    def record(self) -> ClusterRecord | None:
        """Returns the record of ZooKeeper or of the KRaft quorum; None if it was not read."""
        return record_of(self.snapshot)

    @property
    def ensemble(self) -> tuple[ZooKeeperNode, ...]:
        return self.snapshot.ensemble

    @property
    def views(self) -> Mapping[int, BrokerView]:
        return self.snapshot.views

    @property
    def registrations(self) -> Mapping[int, Registration]:
        """Returns the registrations in ZooKeeper; empty if it was not read."""
        return self.snapshot.zookeeper.registrations if self.snapshot.zookeeper else {}

    def views_of(self, tp: TopicPartition) -> dict[int, PartitionView]:
        return {b: v.partitions[tp] for b, v in self.views.items() if tp in v.partitions}

    @cached_property
    def listed(self) -> frozenset[int]:
        """Returns the brokers that any broker lists as alive."""
        return listed(self.views.values())

    def log_ends(self, tp: TopicPartition) -> Mapping[int, LogEnd]:
        return {b: e for b, e in self.snapshot.log_ends.get(tp, {}).items() if not e.error}

    def log_end_error(self, tp: TopicPartition, broker: int) -> str:
        """Returns the error of a broker that was asked for its replica's log end, or ""."""
        found = self.snapshot.log_ends.get(tp, {}).get(broker)
        return "" if found is None else found.error

    def state(self, tp: TopicPartition) -> PartitionState | None:
        """Returns ZooKeeper's record of the partition; None if it was not read."""
        return self.snapshot.zookeeper.states.get(tp) if self.snapshot.zookeeper else None

    @property
    def offsets_logs(self) -> tuple[OffsetsLog, ...]:
        return self.snapshot.offsets_logs

    @property
    def probes(self) -> tuple[CoordinatorProbe, ...]:
        return self.snapshot.probes

    @cached_property
    def topics_may_be_hidden(self) -> bool:
        """Returns whether brokers may leave out topics that this client may not describe.

        Without the settings of a broker it is unknown whether it has an authorizer.
        """
        unread = (s.name.startswith("configs of broker") for s in self.snapshot.failed_sources)
        return self.snapshot.hides_topics or any(unread)

    @cached_property
    def nothing_known(self) -> bool:
        """Returns whether every broker that answered knows no partition at all, and none is hidden from this client."""
        known = any(len(view.partitions) for view in self.views.values())
        return bool(self.views) and not known and not self.topics_may_be_hidden

    @property
    def kraft(self) -> bool:
        return self.snapshot.cluster.mode is Mode.KRAFT

    @property
    def controller(self) -> ControllerNode | None:
        return self.snapshot.zookeeper.controller if self.snapshot.zookeeper else None

    @property
    def zookeeper_name(self) -> str:
        return f"zookeeper {self.snapshot.zookeeper.server}" if self.snapshot.zookeeper else "zookeeper"

    @property
    def record_name(self) -> str:
        """Returns the source of the record: ZooKeeper, or the broker with the newest metadata of a quorum."""
        return self.record.source if self.record is not None else self.zookeeper_name

    @property
    def failed_sources(self) -> tuple[Source, ...]:
        return self.snapshot.failed_sources

    @property
    def taken_at(self) -> float:
        return self.snapshot.taken_at

    def address(self, broker: int) -> str:
        known = self.snapshot.addresses.get(broker)
        return str(known) if known is not None else self.snapshot.memory.brokers.get(broker, "")

    def setting(self, broker: int, key: str) -> str:
        return self.snapshot.broker_configs.get(broker, {}).get(key, "")

    def settings(self, key: str) -> dict[int, str]:
        """Returns {broker: value}, without the brokers whose settings were not read."""
        return {b: c[key] for b, c in sorted(self.snapshot.broker_configs.items()) if key in c}

    @cached_property
    def unclean_defaults(self) -> dict[int, str]:
        """Returns {node: its default of unclean elections} of the nodes that may decide: on KRaft the controllers."""
        if not self.kraft:
            return self.settings(UNCLEAN)
        return {n: c[UNCLEAN] for n, c in controller_settings(self.snapshot).items() if UNCLEAN in c}

    def own_setting(self, topic: str, key: str) -> str:
        """Returns the value set on the topic itself; "" if none is set or it was not read."""
        return self._topic_settings.get(topic, {}).get(key, "")

    def own_settings(self, key: str) -> dict[str, str]:
        """Returns {topic: value} of the topics that exist and set it; empty if they were not read.

        A broker of Kafka 4 that was restarted may report settings of a deleted topic (docs/facts/kraft.md).
        """
        found = {topic: config[key] for topic, config in sorted(self._topic_settings.items()) if key in config}
        return {topic: value for topic, value in found.items() if topic in self._topics} if found else {}

    @cached_property
    def _topics(self) -> frozenset[str]:
        """Returns the topics that the authority records, on KRaft those in the newest metadata of a live broker."""
        return frozenset(tp.topic for tp in self.record.assignments) if self.record is not None else frozenset()

    @property
    def _topic_settings(self) -> Mapping[str, Mapping[str, str]]:
        return (self.record.topic_settings or {}) if self.record is not None else {}

    @property
    def live(self) -> frozenset[int] | None:
        return self.background.live

    def assignment(self, tp: TopicPartition) -> Assignment:
        """Returns the assignment; empty if no source has one."""
        if self.record is not None and tp in self.record.assignments:
            return self.record.assignments[tp]
        if self.snapshot.reassignments is not None and tp in self.snapshot.reassignments:
            return self.snapshot.reassignments[tp]
        view = self.newest_view(tp)
        return Assignment(view.replicas if view else ())

    def isr(self, tp: TopicPartition) -> tuple[int, ...]:
        state = self.state(tp) if self.background.authority else None
        view = None if state is not None else self.newest_view(tp)
        return state.isr if state is not None else view.isr if view is not None else ()

    def min_isr(self, tp: TopicPartition) -> int | None:
        """Returns min.insync.replicas as the leader of the partition applies it; None if it was not read."""
        state = self.state(tp) if self.background.authority else None
        known = state if state is not None else self.newest_view(tp)
        leader, replicas = NO_LEADER if known is None else known.leader, len(self.assignment(tp).replicas)
        least = self.background.settings(tp.topic, leader, replicas)[0]
        return None if least < 0 else least

    def among_live(self, brokers: Iterable[int]) -> tuple[int, ...]:
        return tuple(b for b in brokers if b in (self.live or ()))

    def away(self, brokers: Iterable[int]) -> tuple[int, ...]:
        return tuple(b for b in brokers if self.live is not None and b not in self.live)

    def failed_replicas(self, tp: TopicPartition) -> frozenset[int]:
        """Returns the live brokers whose replica is offline, because a log directory failed."""
        readable = frozenset(self.log_ends(tp))
        return offline_alive(tuple(self.views_of(tp).values()), self.live, self.listed, readable)

    def online(self, tp: TopicPartition, brokers: Iterable[int]) -> tuple[int, ...]:
        """Returns the brokers among these that are alive and whose log directory with this replica works."""
        failed = self.failed_replicas(tp)
        return tuple(b for b in self.among_live(brokers) if b not in failed)

    def unclean_winner(self, tp: TopicPartition) -> int | None:
        """Returns the first replica in assignment order that is online, whatever its log (docs/facts/controller.md)."""
        return next(iter(self.online(tp, self.assignment(tp).replicas)), None)

    def newest_view(self, tp: TopicPartition) -> PartitionView | None:
        """Returns the partition in the newest metadata of any broker; None if no broker knows it."""
        return max(self.views_of(tp).values(), key=standing, default=None)
