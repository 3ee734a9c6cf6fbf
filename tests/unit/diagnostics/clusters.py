"""The clusters of the incidents, sick and nearly sick, under the names that the lab gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.broker_answers import OffsetsLogSize
from kfix.core.snapshot.snapshot import (
    NEWEST_PROTOCOL,
    Assignment,
    LoggedGroup,
    Mode,
    OffsetsLog,
    OpenTransaction,
    Snapshot,
    TopicPartition,
)
from kfix.diagnose.pasted.reader import parse_pasted
from tests.unit.diagnostics.build import NOW, Paper

#: g2 hashes to 43 of 50 partitions.
G2 = TopicPartition(OFFSETS_TOPIC, 43)


def base() -> Paper:
    """Three brokers, replication factor 3, min.insync.replicas 2, three groups that work."""
    paper = Paper().offsets(50).topic("orders", 12)
    paper.min_isr = 2
    paper.groups = ("g2", "pay", "ship")
    return paper


def metadata_divergence() -> Paper:
    return base().forge(OFFSETS_TOPIC, 43, 1, (1, 2))


def coordinator_stuck() -> Paper:
    return metadata_divergence().fall(OFFSETS_TOPIC, 43, 1)


def partitions_stuck(partitions: int) -> Paper:
    paper = Paper().offsets(50).topic("orders", partitions, replicas=[[3, 1, 2]] * partitions)
    for p in range(partitions):
        part = paper.part("orders", p)
        part.write(leader=-1, isr=(2,), age=60)
    paper.forget(1)
    return paper


def offsets_rf1() -> Paper:
    paper = Paper().offsets(50, rf=1).topic("orders", 12)
    paper.groups = ("g2", "pay", "ship")
    paper.broker_settings = {b: {"offsets.topic.replication.factor": "1"} for b in (1, 2, 3)}
    return paper


def coordinator_loading(age: float = 86_400.0) -> Paper:
    paper = base()
    paper.broken_groups = {"g2": (0, 14)}
    paper.registered[paper.part(OFFSETS_TOPIC, 43).leader] = age
    return paper


def offsets_uncompacted(
    paper: Paper | None = None, *, copy: int = 400 << 20, settings: Mapping[str, str] = {}, **changes: Any
) -> Snapshot:
    """Partition 43, of g2, has four segments and repeated keys on its leader 2; `copy` is the size on broker 1."""
    log = OffsetsLogSize(43, 2, 400 << 20, 5_000, 100, int((NOW - 7200) * 1000), 320 << 20)
    sizes = (OffsetsLogSize(43, 1, copy), log._replace(**changes))
    made = paper or base()
    made.broker_settings = {b: dict(settings) for b in (1, 2, 3)}
    return made.snapshot(offsets_sizes=sizes)


def pending_offsets() -> Snapshot:
    """A producer has left a transaction with an offset of g2 open for two minutes; pay has one in it that is served."""
    orders = TopicPartition("orders", 0)
    groups = (LoggedGroup("g2", 3, (), (orders,)), LoggedGroup("neighbour", 1, (), ()))
    open_since = OpenTransaction(4000, int((NOW - 120) * 1000), ("g2",))
    return base().snapshot(offsets_logs=(OffsetsLog(43, 2, 0, 90, 80, 80, 90, groups, (open_since,)),))


def offsets_not_loaded() -> Snapshot:
    """Broker 2 serves no offset of g2, and those of its neighbour."""
    lacks = tuple(TopicPartition("orders", number) for number in range(3))
    groups = (LoggedGroup("g2", 3, lacks, ()), LoggedGroup("neighbour", 1, (), ()))
    return base().snapshot(offsets_logs=(OffsetsLog(43, 2, 0, 90, 90, 0, 90, groups),))


def offsets_withheld() -> Snapshot:
    """Broker 1 leads every offsets partition alone, below min.insync.replicas, and withholds the offsets of g2's."""
    log = OffsetsLog(43, 1, 0, 90, -1, 0, 0, withheld=True)
    return base().kill(2).kill(3).snapshot(offsets_logs=(log,))


def broker_ids_gone(*, address: bool = False) -> Paper:
    """Broker 4 was re-created as broker 5, which has no replica yet."""
    paper = Paper((1, 2, 3, 4)).offsets(50).topic("ghost", 1, replicas=[[4]]).topic("pair", 2, replicas=[[4, 1]] * 2)
    paper.kill(4)
    paper.registered[5] = 590.0
    paper.answering.add(5)
    if address:
        paper.registered[5] = 40_000_000.0
        paper.remembered_brokers = {4: "localhost:9095"}
    return paper


def isr_gone() -> Paper:
    paper = base().topic("logs", 2, replicas=[[1, 2], [1, 2]])
    for p in (0, 1):
        paper.part("logs", p).isr = (1,)
    return paper.kill(1)


def packed_replicas() -> Paper:
    """Partition 0 is on [1, 2], partition 1 on [2, 3]; a test kills 1 and 2."""
    paper = Paper().offsets(50).topic("t", 2, replicas=[[1, 2], [2, 3]])
    paper.part("t", 1).isr = (2,)
    return paper


def slow_follower() -> Paper:
    paper = base()
    for p in range(12):
        part = paper.part("orders", p)
        if part.leader != 3:
            part.isr, part.age = tuple(b for b in part.isr if b != 3), 900.0
    return paper


def no_zookeeper(paper: Paper, mode: Mode = Mode.KRAFT) -> Paper:
    paper.zookeeper, paper.mode = False, mode
    return paper


def stale_view(broker: int = 1) -> Paper:
    """The controller does not reach broker 1, whose metadata still names the old leaders."""
    paper = base()
    for p in range(6):
        part = paper.part("orders", p)
        part.seen_by[broker] = (part.leader, part.epoch, part.isr)
        part.write(leader=part.isr[1], isr=part.isr, age=300)
    return paper


def zone_isolated_with_leader() -> Paper:
    """Broker 1 is isolated with its zone; the others elected new leaders, one epoch later; it still leads its own."""
    paper = base()
    for part in paper.parts.values():
        part.seen_by[1] = (part.leader, part.epoch, part.isr)
    paper.kill(1, 30)
    paper.answering.add(1)
    return paper


def never_told() -> Paper:
    """KAFKA-13407: broker 2 came back an hour ago, and the controller has not told it anything."""
    paper = base().kill(2).back(2, 3600)
    for part in paper.parts.values():
        part.seen_by[2] = None
    return paper


def stuck_reassignment() -> Paper:
    paper = Paper((1, 2, 3, 4)).offsets(50).topic("orders", 2, replicas=[[1, 2, 3, 4]] * 2)
    for p in (0, 1):
        part = paper.part("orders", p)
        part.isr, part.adding, part.removing = (1, 2, 3), (4,), (3,)
    paper.forget(4)
    return paper


def deleting() -> Paper:
    paper = base().topic("old", 3)
    paper.deleting = frozenset({"old"})
    return paper


def text(rows: str) -> Snapshot:
    return parse_pasted(rows, "paste.txt", NOW)


def unread_zookeeper() -> Paper:
    paper = no_zookeeper(base(), Mode.ZOOKEEPER)
    paper.failed = {"zookeeper localhost:2181": "no answer in 3 s"}
    return paper


def changed(paper: Paper, **values: object) -> Paper:
    for name, value in values.items():
        assert hasattr(paper, name)
        setattr(paper, name, value)
    return paper


def released(version: str, paper: Paper, **values: object) -> Paper:
    """Whose brokers report that their software supports this protocol version."""
    every = {b: paper.broker_settings.get(b, {}) | {NEWEST_PROTOCOL: version} for b in paper.brokers}
    return changed(paper, broker_settings=every, **values)


def old(paper: Paper, **values: object) -> Paper:
    return released("2.7-IV2", paper, **values)


def capping(paper: Paper, **values: object) -> Paper:
    """Whose leaders require no more in-sync replicas than there are."""
    return released("3.9-IV0", paper, **values)


def on_broker(broker: int, paper: Paper, why: str = "timed out after 3 s") -> Paper:
    paper.answering.discard(broker)
    paper.silent = {broker: why}
    return paper


def unasked_coordinator(why: str = "timed out after 3 s") -> Snapshot:
    """Broker 2 is registered and leads the offsets partition of a group, and does not answer kfix there."""
    paper = base()
    paper.broken_groups = {"g2": (0, -1)}
    return on_broker(2, paper, why).snapshot()


def rack_packed(*, racks: dict[int, str]) -> Paper:
    return Paper((1, 2, 3, 4), racks).offsets(50, rf=4).topic("orders", 3, replicas=[[1, 2, 3]] * 3)


def another_epoch_at_zookeeper() -> Snapshot:
    """Brokers answer -1 for a leader that is dead: no other opinion than ZooKeeper's."""
    paper = base()
    paper.forget(1)
    return paper.snapshot()


def healthy() -> Snapshot:
    return base().snapshot()


def not_created(paper: Paper, replicas: tuple[int, ...], *, topic: str = "orders") -> Snapshot:
    """Two more partitions in the znode of the topic, which the controller has not taken up."""
    snapshot = paper.snapshot()
    record = snapshot.zookeeper
    assert record is not None
    new = {TopicPartition(topic, n): Assignment(replicas) for n in (12, 13)}
    return replace(snapshot, zookeeper=replace(record, assignments={**record.assignments, **new}))
