"""Clusters whose network is cut, as the lab's zones showed them (design: incidents C and E; kafka-facts J)."""

from __future__ import annotations

from dataclasses import replace

from kfix.core.snapshot.memory import AtRisk, Memory
from kfix.core.snapshot.snapshot import (
    EpochEnd,
    LogEnd,
    Mode,
    Sample,
    Snapshot,
    TopicPartition,
    Vantage,
    ZooKeeperNode,
)
from tests.unit.diagnostics.build import NOW, Paper
from tests.unit.diagnostics.clusters import base, metadata_divergence, no_zookeeper, zone_isolated_with_leader

ZONES = {1: "az1", 2: "az2", 3: "az3"}
ORDERS = TopicPartition("orders", 0)  # led by broker 1


def zoned(paper: Paper) -> Paper:
    paper.racks = dict(ZONES)
    return paper


def servers(**modes: str) -> tuple[ZooKeeperNode, ...]:
    """`a="leader"`: one server a letter; a mode of `-` is one that does not answer."""
    return tuple(
        ZooKeeperNode(f"zk-{name}:2181", "" if mode == "-" else mode, "no answer in time" if mode == "-" else "", 7)
        for name, mode in modes.items()
    )


def dropped(paper: Paper, leader: int, *missing: int, topic: str = "orders", age: float = 300.0) -> None:
    for tp, part in paper.parts.items():
        if part.leader == leader and tp.topic == topic:
            part.isr, part.age = tuple(b for b in part.isr if b not in missing), age
            part.version += 1


def sampled(snapshot_ends: dict[int, int], before: dict[int, int] | None = None) -> dict[str, object]:
    """Log ends of every partition of `orders`, the same now and 10 s ago unless `before` says otherwise."""
    tps = [TopicPartition("orders", p) for p in range(12)]
    return {
        "log_ends": {tp: {b: LogEnd(0, end) for b, end in snapshot_ends.items()} for tp in tps},
        "samples": (Sample(NOW - 10, {tp: dict(before or snapshot_ends) for tp in tps}),),
    }


def link_cut() -> Snapshot:
    """Brokers 1 and 2 have dropped each other, the controller, 3, has all in sync."""
    paper = zoned(base())
    dropped(paper, 1, 2)
    dropped(paper, 2, 1)
    return paper.snapshot(**sampled({1: 90, 2: 60, 3: 90}))


def one_sided_link_cut() -> Snapshot:
    paper = zoned(base())
    dropped(paper, 1, 2)
    dropped(paper, 1, 2, topic="__consumer_offsets")
    return paper.snapshot()


def lagging(before: int, now: int) -> Snapshot:
    """Broker 2 is out of sync with 1 on one topic only; its log end `before` and `now`, the leader's 60 and 90."""
    paper = zoned(base())
    dropped(paper, 1, 2)
    return paper.snapshot(**sampled({1: 90, 2: now, 3: 90}, {1: 60, 2: before, 3: 60}))


def slow_link() -> Snapshot:
    """As C1, but the log ends move: slow, not cut."""
    paper = zoned(base())
    dropped(paper, 1, 2)
    dropped(paper, 2, 1)
    return paper.snapshot(**sampled({1: 90, 2: 70, 3: 90}, {1: 60, 2: 50, 3: 60}))


def controller_link_cut(*, data_too: bool = True) -> Snapshot:
    """Broker 1 does not hear the controller, 3, which has dropped it where it leads."""
    paper = zoned(base())
    for tp, part in paper.parts.items():
        if part.leader == 3 and tp.topic == "orders":
            part.seen_by[1] = (3, part.epoch, part.isr)
    if data_too:
        dropped(paper, 3, 1)
    else:
        for part in paper.parts.values():
            if 1 in part.seen_by:
                part.seen_by[1] = None
    return paper.snapshot(log_ends={ORDERS: {1: LogEnd(0, 327)}}, visible={ORDERS: {1: 276}})


def zone_isolated(*, known: bool = True) -> Snapshot:
    """Zone az1 with broker 1, which led a third; its log goes on where the others began anew."""
    ends = {b: LogEnd(0, end) for b, end in ((1, 130), (2, 112), (3, 112))}
    told = {ORDERS: EpochEnd(2, 0, 100)} if known else {}
    return zoned(zone_isolated_with_leader()).snapshot(
        log_ends={ORDERS: ends}, epoch_ends=told, ensemble=servers(a="leader", b="follower")
    )


def zone_isolated_leading_nothing() -> Snapshot:
    """C3a."""
    paper = zoned(base())
    for tp, part in paper.parts.items():
        if part.leader == 1:
            part.replicas = part.isr = (2, 3, 1)
            part.leader = 2
        part.seen_by[1] = (part.leader, part.epoch, part.isr)
        assert tp
    paper.kill(1, 30)
    for part in paper.parts.values():
        part.epoch = 1
    paper.answering.add(1)
    return paper.snapshot()


def two_controllers() -> Snapshot:
    """The controller, 1, is cut off and leads a third."""
    paper = zoned(base())
    paper.controller = 1
    for part in paper.parts.values():
        part.seen_by[1] = (part.leader, part.epoch, part.isr)
    paper.kill(1, 30)
    paper.answering.add(1)
    paper.named_controller = {1: 1}
    return paper.snapshot(
        log_ends={ORDERS: {1: LogEnd(0, 130), 2: LogEnd(0, 112)}}, epoch_ends={ORDERS: EpochEnd(2, 0, 100)}
    )


def controller_alone() -> Snapshot:
    """E1, followers dropped: the controller, 3, leads alone, and nobody else hears of it."""
    paper = zoned(base())
    for part in paper.parts.values():
        if part.leader == 3:
            part.seen_by = dict.fromkeys((1, 2), (3, part.epoch, part.isr))
    dropped(paper, 3, 1, 2)
    return paper.snapshot(**sampled({1: 60, 2: 60, 3: 90}))


def broker_alone() -> Snapshot:
    """Broker 1 reaches neither the controller nor the other one: it cannot even shrink an isr."""
    paper = zoned(base())
    for part in paper.parts.values():
        if part.leader != 1:
            part.seen_by[1] = (part.leader, part.epoch, part.isr)
    dropped(paper, 2, 1)
    dropped(paper, 3, 1)
    return paper.snapshot()


def slow_broker() -> Snapshot:
    """Broker 1 lags behind everybody and keeps its own followers: slow, or its fetcher stuck."""
    paper = zoned(base())
    dropped(paper, 2, 1)
    dropped(paper, 3, 1)
    return paper.snapshot(**sampled({1: 60, 2: 90, 3: 90}))


def lost(*, told: bool = True, committed: bool = False) -> Snapshot:
    """D1, D2: broker 1 led `orders-0` up to 90; broker 2 took over at 80, one epoch later; all is in sync again."""
    paper = zoned(base())
    part = paper.part("orders", 0)
    part.write(leader=2, isr=part.isr, age=600)
    then = Sample(NOW - 3600, {ORDERS: {1: 90, 2: 80}}, {ORDERS: (1, 0, 0)}, {ORDERS: 90 if committed else 80})
    return paper.snapshot(
        samples=(then,),
        epoch_ends={ORDERS: EpochEnd(2, 0, 80)} if told else {},
        log_ends={ORDERS: {b: LogEnd(0, 85) for b in (1, 2, 3)}},
    )


def led_uncleanly(*, returned: bool = False) -> Snapshot:
    """Only broker 1 was in sync of `orders-0` when an earlier snapshot was taken; broker 2 was elected without it."""
    paper = zoned(base()).kill(1)
    part = paper.part("orders", 0)
    before = AtRisk(NOW - 60, -1, part.epoch, part.version, (1,))
    part.write(leader=2, isr=(2, 3), age=30)
    if returned:
        paper.back(1, age=20, in_sync=True)
    return paper.snapshot(memory=Memory(at_risk={ORDERS: before}))


def led_by_a_former_leader() -> Snapshot:
    """Broker 2 led in between, and had every record: it may hand over to the others."""
    paper = zoned(base())
    part = paper.part("orders", 0)
    before = AtRisk(NOW - 60, -1, part.epoch, part.version, (2,))
    part.write(leader=2, isr=(2,), age=40)
    part.isr, part.version = (1, 2, 3), part.version + 1
    part.write(leader=1, isr=(1, 2, 3), age=30)
    return paper.snapshot(memory=Memory(at_risk={ORDERS: before}))


def led_on() -> Snapshot:
    """The same leader all the while: whatever its log end was, nothing was cut off."""
    then = Sample(NOW - 3600, {ORDERS: {1: 90}}, {ORDERS: (1, 0, 0)}, {ORDERS: 90})
    return zoned(base()).snapshot(samples=(then,), log_ends={ORDERS: {1: LogEnd(0, 95)}})


def left_out(*, age: float = 300.0) -> Snapshot:
    """Broker 2 has everything that 1 leads of `orders`, and is not in the isr."""
    paper = zoned(base())
    dropped(paper, 1, 2, age=age)
    return paper.snapshot(
        log_ends={TopicPartition("orders", p): {b: LogEnd(0, 90) for b in (1, 2, 3)} for p in range(12)}
    )


def seen_from(snapshot: Snapshot) -> Snapshot:
    here = Vantage("az1", NOW, ("broker 1",), {"broker 2": "no answer in time"})
    there = Vantage("az2", NOW, ("broker 2", "broker 3"), {"broker 1": "no answer in time"})
    return replace(snapshot, vantages=(here, there))


def node_cut() -> Snapshot:
    return zoned(base()).snapshot(ensemble=servers(a="leader", b="follower", c="no quorum"))


def node_dead() -> Snapshot:
    return zoned(base()).snapshot(ensemble=servers(a="leader", b="follower", c="-"))


def quorum_lost() -> Snapshot:
    paper = no_zookeeper(base(), Mode.ZOOKEEPER)
    paper.failed = {"zookeeper zk-a:2181": "closed the connection: it has no quorum"}
    return paper.snapshot(ensemble=servers(a="no quorum", b="read-only", c="-"))


def throttled(both: bool = False) -> Snapshot:
    """A left-over throttle on what broker 1 leads (and 2, with `both`): replicas stand still, and no network is cut."""
    paper = zoned(base())
    paper.topic_settings = {"orders": {"leader.replication.throttled.replicas": "*"}}
    dropped(paper, 1, 2, 3)
    if both:
        dropped(paper, 2, 1)
    return paper.snapshot(**sampled({1: 90, 2: 60, 3: 60}))


def slow_leader() -> Snapshot:
    """The same without a throttle to see: nobody has dropped broker 1, so it is not cut off."""
    paper = zoned(base())
    dropped(paper, 1, 2, 3)
    return paper.snapshot(**sampled({1: 90, 2: 60, 3: 60}))


def told_nothing_yet() -> Snapshot:
    """Broker 1 came back 20 s ago, and the busy controller has not told it anything."""
    paper = zoned(base()).kill(1, 60).back(1, 20)
    for part in paper.parts.values():
        part.seen_by[1] = None
    return paper.snapshot()


def controller_registered_later() -> Snapshot:
    """A record that all brokers missed, and a controller that registered again after it was written."""
    snapshot = metadata_divergence().snapshot()
    zookeeper = snapshot.zookeeper
    assert zookeeper is not None
    registrations = {
        broker: replace(r, registered_ms=int(snapshot.taken_at * 1000)) if broker == zookeeper.controller.broker else r
        for broker, r in zookeeper.registrations.items()
    }
    return replace(snapshot, zookeeper=replace(zookeeper, registrations=registrations))


def one_moves() -> Snapshot:
    """As C1, but one partition of the link moves: the others wait for their turn."""
    snapshot = link_cut()
    first = TopicPartition("orders", 0)
    then = {tp: dict(ends) for tp, ends in snapshot.samples[0].ends.items()}
    then[first][2] = 10
    then[TopicPartition("orders", 1)][1] = 10
    return replace(snapshot, samples=(Sample(NOW - 10, then),))


def rolling(seconds: float) -> Snapshot:
    """KFX810's double: broker 2 came back some seconds ago, partitions are idle, log ends are the same."""
    paper = zoned(base()).kill(2, 60).back(2, seconds)
    ends = {b: LogEnd(0, 90) for b in (1, 2, 3)}
    return paper.snapshot(log_ends=dict.fromkeys(paper.parts, ends))
