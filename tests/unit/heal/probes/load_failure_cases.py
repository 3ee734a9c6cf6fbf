"""Probes of offsets partitions that no coordinator loads, and what each must see."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import ABSENT, ArgValue
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.incidents.coordinators import FAILED
from kfix.heal.memory.load_failures import Stage
from kfix.heal.probes.configs import COMPACTION
from kfix.heal.probes.coordinators import group_on


def failed(*, stages: tuple[Stage, ...] = (), dead: int = 0) -> MemoryCluster:
    """A coordinator that gave its partition up; what its replicas have of the key, in their order."""
    cluster = INCIDENTS["coordinator-failed"]().cluster
    failure = cluster.load_failures[FAILED]
    for broker, stage in zip(cluster.records.assignments[FAILED].replicas, stages, strict=False):
        failure.stages[broker] = stage
    if dead:
        cluster.silence(cluster.records.assignments[FAILED].replicas[dead])
    return cluster


def without_settings() -> MemoryCluster:
    """The brokers answer, and do not list the settings that they are asked for."""
    cluster = failed()
    cluster.configs = lambda *_: {}  # type: ignore[method-assign]
    return cluster


ON_FAILED: Mapping[str, ArgValue] = {"partition": str(FAILED)}
_CONFLICT = failed().load_failures[FAILED].conflicts[0]
KEY: Mapping[str, ArgValue] = {**ON_FAILED, "group": "payments", "key": _CONFLICT.key, "first": 12}
_GONE, _TOMBSTONE, _DELETED = Stage.GONE, Stage.TOMBSTONE, Stage.DELETED
#: What a topic has that sets no compaction of its own.
USUAL: Mapping[str, ArgValue] = {"topic": FAILED.topic, **dict.fromkeys(COMPACTION, ABSENT)}
PROBED: Mapping[str, ArgValue] = {**ON_FAILED, "group": group_on(FAILED.partition, 4)}

CASES: list[tuple[str, Callable[[], MemoryCluster], Mapping[str, ArgValue], str, str]] = [
    ("key_is_deleted", failed, KEY, "fail", "1 with a value"),
    ("key_is_deleted", lambda: failed(stages=(_DELETED, _TOMBSTONE, _GONE)), KEY, "pass", "1 with a value, 1 without"),
    ("key_is_compacted", lambda: failed(stages=(_DELETED, _TOMBSTONE, _GONE)), KEY, "fail", "1 with a value"),
    ("key_is_compacted", lambda: failed(stages=(_TOMBSTONE, _TOMBSTONE, _GONE)), KEY, "pass", "1 without"),
    ("key_is_gone", lambda: failed(stages=(_GONE, _GONE, _TOMBSTONE)), KEY, "fail", "1 without"),
    ("key_is_gone", lambda: failed(stages=(_GONE, _GONE, _GONE)), KEY, "pass", "none"),
    ("key_is_gone", lambda: failed(stages=(_GONE, _GONE, _GONE), dead=1), KEY, "inconclusive", "no answer"),
    ("coordinator_gave_up", failed, PROBED, "pass", "OffsetFetch 16"),
    ("coordinator_gave_up", lambda: INCIDENTS["leader-skew-kraft"]().cluster, PROBED, "inconclusive", "is now on"),
    ("compaction_possible", failed, ON_FAILED, "pass", "each with a log cleaner"),
    (
        "compaction_possible",
        lambda: INCIDENTS["coordinator-failed-no-cleaner"]().cluster,
        ON_FAILED,
        "fail",
        "compacts no log",
    ),
    ("compaction_possible", without_settings, ON_FAILED, "inconclusive", "is unknown"),
    ("compaction_is", failed, USUAL, "pass", "(absent)"),
    ("compaction_is", failed, {**USUAL, "segment_ms": "5000"}, "fail", "segment.ms (absent)"),
    ("topic_in_sync", failed, {"topic": FAILED.topic}, "pass", "4 partitions"),
    (
        "topic_in_sync",
        lambda: INCIDENTS["coordinator-failed-replica-dead"]().cluster,
        {"topic": FAILED.topic},
        "fail",
        "have a replica that is dead or out of sync",
    ),
]
