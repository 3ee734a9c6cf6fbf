"""A small cluster on paper: healthy unless told otherwise, broken the way real controllers break it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.snapshot.group_reading import GroupReading
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import (
    Assignment,
    BrokerView,
    ClusterIdentity,
    ControllerNode,
    CoordinatorProbe,
    Endpoint,
    Group,
    LogEnd,
    Mode,
    PartitionState,
    PartitionView,
    Registration,
    Snapshot,
    Source,
    TopicPartition,
    ZooKeeperView,
)

NOW = 1_800_000_000.0
DAY = 86_400.0


def remembering(snapshot: Snapshot, **known: Any) -> Snapshot:
    """Returns the snapshot with fields of its memory set."""
    return replace(snapshot, memory=replace(snapshot.memory, **known))


@dataclass
class Part:
    replicas: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    epoch: int = 0
    version: int = 0
    controller_epoch: int = 1
    age: float = DAY
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    believed: tuple[int, int, tuple[int, ...]] | None = None  # leader, epoch, isr in the brokers' memory
    seen_by: dict[int, tuple[int, int, tuple[int, ...]] | None] = field(default_factory=dict)

    def write(self, *, leader: int, isr: Iterable[int], age: float) -> None:
        self.leader, self.isr, self.age = leader, tuple(isr), age
        self.epoch += 1
        self.version += 1


class Paper:
    """`kill` is what a controller does on the loss of a broker, `forge` what somebody else does to ZooKeeper."""

    def __init__(self, brokers: Iterable[int] = (1, 2, 3), racks: Mapping[int, str] | None = None) -> None:
        self.brokers = tuple(brokers)
        self.racks = dict(racks or {})
        self.registered = dict.fromkeys(self.brokers, DAY)
        self.left: dict[int, float] = {}  # {broker: how long ago its registration ended}
        self.seen: dict[int, float] = {}  # {broker: how long ago it last answered an earlier snapshot}
        self.answering = set(self.brokers)
        self.silent: dict[int, str] = {}
        self.controller: int | None = self.brokers[-1]
        self.named_controller: dict[int, int] = {}
        self.parts: dict[TopicPartition, Part] = {}
        self.min_isr = 1
        self.broker_settings: dict[int, dict[str, str]] = {}
        self.topic_settings: dict[str, dict[str, str]] = {}
        self.groups: tuple[str, ...] = ()
        self.remembered: tuple[str, ...] = ()
        self.remembered_brokers: dict[int, str] = {}
        self.broken_groups: dict[str, tuple[int, int | None]] = {}
        self.log_ends: dict[TopicPartition, dict[int, int]] = {}
        self.deleting: frozenset[str] = frozenset()
        self.failed: dict[str, str] = {}
        self.zookeeper = True
        self.mode = Mode.ZOOKEEPER
        self.notifications = 0
        self.preferred_pending = False

    def topic(self, name: str, partitions: int, rf: int = 3, *, replicas: list[list[int]] | None = None) -> Paper:
        n = len(self.brokers)
        for p in range(partitions):
            chosen = tuple(replicas[p]) if replicas else tuple(self.brokers[(p + i) % n] for i in range(rf))
            self.parts[TopicPartition(name, p)] = Part(chosen, chosen[0], chosen)
        return self

    def offsets(self, partitions: int = 50, rf: int = 3) -> Paper:
        return self.topic(OFFSETS_TOPIC, partitions, rf)

    def part(self, topic: str, partition: int) -> Part:
        return self.parts[TopicPartition(topic, partition)]

    def forget(self, broker: int, age: float = 0.0) -> None:
        self.registered.pop(broker, None)
        self.left[broker] = age
        self.answering.discard(broker)

    def kill(self, broker: int, age: float = 600.0) -> Paper:
        self.forget(broker, age)
        self.seen[broker] = age + 15
        if self.controller == broker:
            self.controller = min(self.registered, default=None)
        for part in self.parts.values():
            if broker not in part.isr and part.leader != broker:
                continue
            rest = tuple(b for b in part.isr if b != broker) or part.isr
            heir = next((b for b in part.replicas if b in rest and b in self.registered), -1)
            part.write(leader=heir if part.leader == broker else part.leader, isr=rest, age=age)
        return self

    def back(self, broker: int, age: float = 5.0, *, in_sync: bool = False) -> Paper:
        self.registered[broker] = age
        self.left.pop(broker, None)
        self.answering.add(broker)
        for part in self.parts.values():
            if in_sync and broker in part.replicas and broker not in part.isr:
                part.isr = tuple(b for b in part.replicas if b in (*part.isr, broker))
                part.version += 1
                part.age = age
        return self

    def forge(self, topic: str, partition: int, leader: int, isr: Iterable[int], age: float = 600.0) -> Paper:
        """A1 before the fall: ZooKeeper is changed behind the controller's back, the brokers go on believing."""
        part = self.part(topic, partition)
        part.believed = (part.leader, part.epoch, part.isr)
        part.write(leader=leader, isr=isr, age=age)
        return self

    def fall(self, topic: str, partition: int, broker: int, age: float = 60.0) -> Paper:
        """A1: the forged leader dies; the controller removes it, writes leader -1 and elects nobody."""
        part = self.part(topic, partition)
        isr = tuple(b for b in part.isr if b != broker)
        part.believed = None
        saved = replace(part)
        self.kill(broker, age)
        part.leader, part.isr, part.epoch, part.version, part.age = -1, isr, saved.epoch + 1, saved.version + 1, age
        return self

    def snapshot(self, **changes: Any) -> Snapshot:
        made = Snapshot(
            taken_at=NOW,
            seconds=0.02,
            kfix="test",
            cluster=ClusterIdentity("paper", self.mode, "localhost:9092", "localhost:2181" if self.zookeeper else ""),
            sources=self._sources(),
            views={b: self._view(b) for b in sorted(self.answering)},
            zookeeper=self._zookeeper() if self.zookeeper else None,
            broker_configs={
                b: {"min.insync.replicas": str(self.min_isr)} | self.broker_settings.get(b, {}) for b in self.answering
            },
            topic_configs=self.topic_settings,
            groups=tuple(Group(g, (self.brokers[0],), "Empty") for g in self.groups),
            group_readings=tuple(GroupReading(g, NOW, self.brokers[0], None, None, partitions={}) for g in self.groups),
            probes=self._probes(),
            log_ends={tp: {b: LogEnd(0, e) for b, e in ends.items()} for tp, ends in self.log_ends.items()},
            addresses={b: _endpoint(b) for b in self.brokers},
            silent=self.silent,
            memory=Memory(
                groups=self.remembered,
                brokers=self.remembered_brokers,
                alive={broker: NOW - age for broker, age in self._unseen()},
            ),
        )
        return replace(made, **changes)

    def _unseen(self) -> list[tuple[int, float]]:
        return [(b, age) for b, age in self.seen.items() if b not in self.registered and b not in self.answering]

    def _sources(self) -> tuple[Source, ...]:
        names = [f"broker {b}" for b in sorted(self.answering)] + (
            ["zookeeper localhost:2181"] if self.zookeeper else []
        )
        failed = self.failed | {f"broker {b}": why for b, why in self.silent.items()}
        good = tuple(Source(name, ok=True, seconds=0.02) for name in names if name not in failed)
        return (*good, *(Source(name, ok=False, error=why, seconds=3.0) for name, why in failed.items()))

    def _view(self, broker: int) -> BrokerView:
        alive = self.registered
        seen = {}
        for tp, part in self.parts.items():
            if tp.topic in self.deleting:
                continue
            told = part.seen_by.get(broker, part.believed or (part.leader, part.epoch, part.isr))
            if told is None:
                continue
            leader, epoch, isr = told
            named = leader if leader in alive or broker in part.seen_by else -1
            offline = tuple(b for b in part.replicas if b not in alive)
            seen[tp] = PartitionView(named, epoch, part.replicas, isr, offline, 5 if named < 0 else 0)
        controller = self.named_controller.get(broker, -1 if self.controller is None else self.controller)
        return BrokerView(broker, controller, {b: _endpoint(b) for b in alive}, dict(self.racks), seen)

    def _zookeeper(self) -> ZooKeeperView:
        return ZooKeeperView(
            connect="localhost:2181",
            server="localhost:2181",
            controller=ControllerNode(self.controller, int((NOW - DAY) * 1000), 63, 1, 1, 63),
            registrations={
                b: Registration(b, _endpoint(b), self.racks.get(b), _zxid(age) + b, int((NOW - age) * 1000))
                for b, age in sorted(self.registered.items())
            },
            assignments={tp: Assignment(p.replicas, p.adding, p.removing) for tp, p in self.parts.items()},
            states={
                tp: PartitionState(
                    p.leader,
                    p.epoch,
                    p.isr,
                    p.controller_epoch,
                    p.version,
                    _zxid(p.age) + 90,
                    int((NOW - p.age) * 1000),
                )
                for tp, p in self.parts.items()
            },
            reassigning={},
            deleting=self.deleting,
            topic_configs=self.topic_settings,
            isr_notifications=self.notifications,
            preferred_election_pending=self.preferred_pending,
            members_zxid=max((_zxid(age) + b for b, age in (self.registered | self.left).items()), default=-1),
        )

    def _probes(self) -> tuple[CoordinatorProbe, ...]:
        n = sum(1 for tp in self.parts if tp.topic == OFFSETS_TOPIC)
        found = []
        for group in (*self.groups, *self.remembered) if n else ():
            partition = partition_of_group(group, n)
            leader = self.part(OFFSETS_TOPIC, partition).leader
            find, fetch = self.broken_groups.get(group, (0, 0) if leader in self.registered else (15, None))
            found.append(
                CoordinatorProbe(
                    group, partition, find, leader if find == 0 else None, fetch, 7 if fetch == 0 else None
                )
            )
        return tuple(found)


def _zxid(age: float) -> int:
    """Returns the first number of a transaction of this age: numbers follow the time."""
    return int((100 * DAY - age) * 1000)


def _endpoint(broker: int) -> Endpoint:
    return Endpoint("localhost", 9090 + broker)
