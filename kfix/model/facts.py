"""Names of the facts a plan rests on, such as `__consumer_offsets-26.isr` or `cluster.controller`.

The name says what to read again; `kfix.probes.facts` reads it. A topic may contain dots, so the last one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kfix.model.args import parse_partition
from kfix.model.snapshot import TopicPartition

FactJson = int | str | bool | None | tuple[int, ...]

PARTITION_FACTS = (
    "leader",
    "leader_epoch",
    "isr",
    "live_isr",
    "assignment",
    "live_replicas",
    "reassigning",
    "partition_count",
)
CLUSTER_FACTS = ("controller", "controller_epoch", "controller_epoch_version", "migrating")
CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Fact:
    """One value the planner used. `version` is the znode's where it has one: people see that somebody wrote it."""

    key: str
    value: FactJson
    source: str
    version: int | None = None


ReadFact = Callable[[str], Fact]
"""Gives a fact fresh or raises `UnreachableError`; whoever reads through it puts the fact into the read set."""


def about(tp: TopicPartition, *names: str) -> tuple[str, ...]:
    for name in names:
        if name not in PARTITION_FACTS:
            raise ValueError(f"there is no fact {name!r} about a partition")
    return tuple(f"{tp}.{name}" for name in names)


def about_cluster(*names: str) -> tuple[str, ...]:
    for name in names:
        if name not in CLUSTER_FACTS:
            raise ValueError(f"there is no fact {name!r} about a cluster")
    return tuple(f"{CLUSTER}.{name}" for name in names)


def split_key(key: str) -> tuple[TopicPartition | None, str]:
    """The partition (None: the cluster as a whole) and the fact's own name."""
    owner, _, name = key.rpartition(".")
    if owner == CLUSTER and name in CLUSTER_FACTS:
        return None, name
    if name not in PARTITION_FACTS:
        raise ValueError(f"there is no fact {key!r}")
    return parse_partition(owner), name


def brokers(fact: Fact) -> tuple[int, ...]:
    """The value of a fact that lists brokers; empty where the thing itself does not exist."""
    return fact.value if isinstance(fact.value, tuple) else ()


def show_value(value: FactJson) -> str:
    if value is None:
        return "absent"
    if isinstance(value, tuple):
        return "[" + ",".join(map(str, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)
