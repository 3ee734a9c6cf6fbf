"""Writes seeded synthetic clusters to the store; 10 000 partitions take some hundredths of a second.

Partitions of one shape (the same brokers in the same state, in a topic of the same kind) differ only in their names.
A snapshot with one partition per shape therefore goes through the real derivation and the real writer, and its rows
are repeated by index. `snapshot_of` builds the same cluster partition by partition, and a test compares both.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from functools import partial
from typing import Any, Final

import pyarrow as pa

from kfix.core.snapshot.snapshot import (
    Assignment,
    BrokerView,
    ClusterIdentity,
    ControllerNode,
    Endpoint,
    Group,
    Mode,
    PartitionState,
    PartitionView,
    Registration,
    Snapshot,
    Source,
    TopicPartition,
    ZooKeeperView,
)
from kfix.fleet.demo.shapes import PLAIN, PartitionShape, SyntheticCluster
from kfix.fleet.engines.pool import each
from kfix.fleet.store.places import place_of
from kfix.fleet.store.rows import stored
from kfix.fleet.store.runs import Run
from kfix.fleet.store.schema import SAMPLE
from kfix.fleet.store.staging import RunWriter, write_cluster

_SETTINGS: Final = {"min.insync.replicas": "2", "default.replication.factor": "3"}
_CONFIG: Final = {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}


def snapshot_of(cluster: SyntheticCluster) -> Snapshot:
    """Returns the cluster as the collector would read it, partition by partition."""
    shapes, places = cluster.shapes
    return _snapshot(cluster, {tp: shapes[i] for tp, i in zip(cluster.names(), places, strict=True)}, cluster.topics)


def stored_of(cluster: SyntheticCluster) -> tuple[Any, dict[str, Any]]:
    """Returns (table, document), equal to `rows.stored` of `snapshot_of`."""
    shapes, places = cluster.shapes
    # One partition per shape, ordered by topic name: `stored` sorts by it, so they are numbered in that order.
    order = sorted(range(len(shapes)), key=lambda i: (shapes[i].kind, i))
    small = {TopicPartition(shapes[i].kind, i): shapes[i] for i in order}
    table, document = stored(_snapshot(cluster, small, cluster.topics), cluster.name)
    row_of = {i: row for row, i in enumerate(order)}
    table = table.take(pa.array([row_of[i] for i in places], pa.int64()))
    topics = [t for t, size in cluster.topics.items() for _ in range(size)]
    numbers = [p for size in cluster.topics.values() for p in range(size)]
    groups = [(made.leader, frozenset(made.isr)) for made in (_state(shape, cluster)[1] for shape in shapes)]
    firsts = {groups[i]: row for row, i in reversed([*enumerate(places)])}
    samples = [False] * len(places)
    for row in firsts.values():
        samples[row] = True
    for name, values in (
        ("topic", pa.array(topics, pa.string())),
        ("partition", pa.array(numbers, pa.int64())),
        (SAMPLE, pa.array(samples, pa.bool_())),
    ):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), values)
    held: Counter[str] = Counter()
    for i, n in Counter(places).items():
        for broker in _replicas(shapes[i], cluster):
            held[str(broker)] += n
    size = cluster.partitions
    known = dict.fromkeys(document["known_to"], size)
    more = {"partitions": size, "topics": len(cluster.topics), "assignments": size, "states": size, "known_to": known}
    return table, document | more | {"holds": dict(sorted(held.items(), key=lambda one: int(one[0])))}


def write(run: str, cluster: SyntheticCluster) -> tuple[str, int]:
    """Writes a cluster into the run at this path or URL. Returns (name, partitions)."""
    table, document = stored_of(cluster)
    return cluster.name, write_cluster(place_of(run), cluster.name, table, document)


def write_fleet(
    root: str,
    day: date,
    run: str,
    clusters: Iterable[SyntheticCluster],
    *,
    processes: int | None = None,
    failed: Mapping[str, str] | None = None,
    at: float | None = None,
    more: Mapping[str, Any] | None = None,
) -> Run:
    """Writes a complete run and returns it.

    `at` is the time of its snapshots in seconds since the epoch (None: now), `failed` maps clusters that were not read
    to a reason, and `more` is added to the manifest. Raises UsageError if two clusters have the same name.
    """
    wanted: dict[str, SyntheticCluster] = {}
    writer = RunWriter(place_of(root), day, run, at=at)
    for cluster in clusters:
        if wanted.setdefault(cluster.name, cluster) is not cluster:
            writer.refuse(cluster.name)
    for done in each(partial(write, str(writer.place)), wanted, processes=processes):
        done.value()
    return writer.finish(failed, synthetic=True, **(more or {}))


def fleet(
    clusters: int,
    partitions: int = 10_000,
    *,
    seed: int = 0,
    sick: float = 0.001,
    dead_every: int = 10,
    scattered: bool = False,
) -> list[SyntheticCluster]:
    """Returns synthetic clusters with that many partitions each; every `dead_every`-th has a dead broker (0: none)."""
    rng = random.Random(f"{seed}/fleet")  # noqa: S311 - not for secrets
    return [
        SyntheticCluster(
            f"cluster-{i:04}", partitions, rng.choice((6, 9, 12, 18)), 3, sick, dead, seed=seed, scattered=scattered
        )
        for i in range(clusters)
        for dead in [int(dead_every > 0 and i % dead_every == dead_every - 1)]
    ]


def _replicas(shape: PartitionShape, cluster: SyntheticCluster) -> tuple[int, ...]:
    return cluster.placements[shape.start][: 1 if shape.sickness == "one-replica" else None]


def _state(shape: PartitionShape, cluster: SyntheticCluster) -> tuple[Assignment, PartitionState, PartitionView]:
    """Returns (assignment, ZooKeeper's partition state, the brokers' view)."""
    replicas = _replicas(shape, cluster)
    alive = tuple(b for b in replicas if b in cluster.live)
    # A death is one write with a new epoch, of followers, too; a return is a write of the ISR, then the election.
    writes = epochs = 0
    if cluster.ring[-1] in replicas:
        returned = cluster.deaths // 2
        elected = returned if cluster.ring[-1] == replicas[0] else 0
        epochs = cluster.deaths - returned + elected
        writes = cluster.deaths + elected
    seen = epoch = 7 + epochs
    isr, leader = alive or replicas[:1], next(iter(alive), -1)
    age = 86_400.0 if len(alive) == len(replicas) else cluster.gone
    believed = leader
    if shape.sickness == "lagging" and len(isr) > 1:
        isr, age = isr[:-1], 900.0
    elif shape.sickness == "under-min-isr":
        isr, age = isr[:1], 900.0
    elif shape.sickness == "leaderless":
        isr, leader, age = isr[-1:], -1, 900.0
        believed = -1
    elif shape.sickness == "diverged" and len(isr) > 1:
        leader, epoch, age = isr[1], epoch + 1, 900.0
    written = int((cluster.now - age - 60 * shape.start) * 1000)
    state = PartitionState(leader, epoch, isr, 3, 9 + writes, 1000 * (1 + writes) + shape.start, written)
    offline = tuple(b for b in replicas if b not in cluster.live)
    return Assignment(replicas), state, PartitionView(believed, seen, replicas, isr, offline, 5 if believed < 0 else 0)


def _snapshot(
    cluster: SyntheticCluster, shapes: Mapping[TopicPartition, PartitionShape], topics: Iterable[str]
) -> Snapshot:
    made = {shape: _state(shape, cluster) for shape in set(shapes.values())}
    believed = {tp: made[shape][2] for tp, shape in shapes.items()}
    late = {tp: made[s][2] for tp, s in shapes.items() if s.sickness == "stale-view"}
    ends = {b: Endpoint(f"broker-{b}.{cluster.name}", 9092) for b in cluster.ring}
    alive = {b: ends[b] for b in sorted(cluster.live)}
    racks = {b: f"rack-{b % cluster.racks}" for b in cluster.ring} if cluster.racks else {}
    controller = min(cluster.live)
    stale = {tp: view._replace(leader_epoch=view.leader_epoch - 1) for tp, view in late.items()}
    started = int((cluster.now - 30 * 86_400) * 1000)
    epochs = {b: 100 + b + (1000 * cluster.deaths if b == cluster.ring[-1] else 0) for b in alive}
    return Snapshot(
        taken_at=cluster.now,
        kfix="synthetic",
        cluster=ClusterIdentity(cluster.name, Mode.ZOOKEEPER, f"{ends[controller]}", f"zk.{cluster.name}:2181"),
        sources=(
            *(Source(f"broker {b}", ok=True, seconds=0.02) for b in alive),
            Source(f"zookeeper zk.{cluster.name}:2181", ok=True, seconds=0.01),
        ),
        views={
            b: BrokerView(
                b,
                controller,
                alive,
                {n: racks[n] for n in alive if n in racks},
                {**believed, **stale} if b == max(alive) else believed,
            )
            for b in alive
        },
        zookeeper=ZooKeeperView(
            connect=f"zk.{cluster.name}:2181",
            server=f"zk.{cluster.name}:2181",
            controller=ControllerNode(controller, started, 63, 3, 3, 63),
            registrations={b: Registration(b, e, racks.get(b), epochs[b], started) for b, e in alive.items()},
            assignments={tp: made[shape][0] for tp, shape in shapes.items()},
            states={tp: made[shape][1] for tp, shape in shapes.items()},
            reassigning={},
            deleting=frozenset(),
            topic_configs={},
            clock_ahead=0,
            topics_created={topic: 200 + n for n, topic in enumerate(topics)},
        ),
        broker_configs={b: {**_SETTINGS, **dict(cluster.settings)} for b in alive},
        topic_configs=dict.fromkeys((*topics, PLAIN), _CONFIG),
        groups=tuple(Group(f"group-{i:02}", (controller,), "Stable") for i in range(20)),
        groups_complete=True,
        addresses=alive,
        seconds=0.4,
    )
