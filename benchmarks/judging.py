"""How long judging 100 000 partitions takes, benign and sick: from the snapshot to the lines on the screen.

python -m benchmarks.judging [--partitions 100000] [--runs 5]

In one process; seconds of CPU. Half of the partitions have leader epochs of their own, so that not all look alike.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable

from kfix.core.snapshot.snapshot import (
    Assignment,
    BrokerView,
    ClusterIdentity,
    ControllerNode,
    Endpoint,
    Mode,
    PartitionState,
    PartitionView,
    Registration,
    Snapshot,
    TopicPartition,
    ZooKeeperView,
)
from kfix.diagnose.report.screen import screen_lines
from kfix_diagnostics.engine import diagnose, examine, settle_seconds

_NOW = 1_800_000_000.0
_HOUR_MS = 3_600_000
_BROKERS = 6
DEAD = 7


def cluster(partitions: int, share: float, *, alike: bool = True) -> Snapshot:
    """Returns a cluster of seven brokers; the last is dead and hosts one replica of `share` of the partitions.

    With `alike`, the views of the brokers share one mapping, as those that were read from equal responses do.
    """
    every = max(1, round(1 / share)) if share else partitions + 1
    views: dict[TopicPartition, PartitionView] = {}
    assigned: dict[TopicPartition, Assignment] = {}
    states: dict[TopicPartition, PartitionState] = {}
    taken = int(_NOW * 1000)
    for number in range(partitions):
        tp = TopicPartition(f"topic-{number // 20:06}", number % 20)
        first = number % _BROKERS
        ids = tuple(1 + (first + step) % _BROKERS for step in range(3))
        lost = number % every == 0 and share > 0
        replicas = (*ids[:2], DEAD) if lost else ids
        isr = replicas[:2] if lost else replicas
        epoch = number % 97 if number % 2 else 0
        views[tp] = PartitionView(replicas[0], epoch, replicas, isr, (DEAD,) if lost else ())
        assigned[tp] = Assignment(replicas)
        states[tp] = PartitionState(replicas[0], epoch, isr, 1, 3, 1_000_000 + number, taken - _HOUR_MS - number)
    live = range(1, _BROKERS + 1)
    endpoints = {b: Endpoint(f"host-{b}", 9092) for b in live}
    zookeeper = ZooKeeperView(
        connect="zk:2181",
        server="zk:2181",
        controller=ControllerNode(1, taken - 9 * _HOUR_MS, 1, 1, 1, 1),
        registrations={b: Registration(b, endpoints[b], f"rack-{b % 3}", b, taken - 9 * _HOUR_MS) for b in live},
        assignments=assigned,
        states=states,
        reassigning={},
        deleting=frozenset(),
        topic_configs={},
    )
    return Snapshot(
        taken_at=_NOW,
        kfix="benchmark",
        cluster=ClusterIdentity("benchmark", Mode.ZOOKEEPER, "host-1:9092", "zk:2181"),
        sources=(),
        views={b: BrokerView(b, 1, endpoints, {}, views if alike else dict(views)) for b in live},
        zookeeper=zookeeper,
        groups_complete=True,
        reassignments={},
        addresses=endpoints,
    )


def judged(snapshot: Snapshot) -> int:
    seen = examine(snapshot)
    settle_seconds(seen)
    return len(list(screen_lines(diagnose(seen), 100)))


def seconds(work: Callable[[], object], runs: int) -> float:
    took = []
    for _ in range(runs):
        gc.collect()
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return statistics.median(took)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--partitions", type=int, default=100_000)
    given.add_argument("--runs", type=int, default=5)
    asked = given.parse_args()
    print(f"| {asked.partitions} partitions | judging, CPU s | lines |\n|---|---|---|")
    for name, share, alike in (
        ("healthy", 0.0, True),
        ("a dead broker, 1 % under-replicated", 0.01, True),
        ("the same, every broker's metadata in other words", 0.01, False),
        ("a dead broker, half under-replicated", 0.5, True),
    ):
        snapshot = cluster(asked.partitions, share, alike=alike)
        gc.disable()
        lines = judged(snapshot)
        took = seconds(lambda s=snapshot: judged(s), asked.runs)  # type: ignore[misc]
        gc.enable()
        print(f"| {name} | {took:.3f} | {lines} |", flush=True)
    print(f"median of {asked.runs}, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
