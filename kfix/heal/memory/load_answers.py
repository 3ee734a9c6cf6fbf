"""The answers of the in-memory cluster about offsets partitions that a coordinator cannot load."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.derive.coordinator import partition_of_group
from kfix.core.errors import UnreachableError
from kfix.core.snapshot.load_conflicts import KeyLeft, OffsetsReplay
from kfix.core.snapshot.offsets import LoggedOffset, SavedGroup
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import NO_LEADER, TopicPartition
from kfix.heal.memory.load_failures import Stage
from kfix.heal.memory.parts import MemoryParts

_DONE = ChangeResult(0, "NONE")
#: With these settings of the topic, each append lets compaction run once.
_HASTENED = {"segment.ms": "1000", "delete.retention.ms": "0"}


def offsets_replay(cluster: MemoryParts, tp: TopicPartition) -> OffsetsReplay:
    leader = _leader(cluster, tp)
    failure = cluster.load_failures.get(tp)
    there = failure is not None and failure.stages.get(leader, Stage.GONE) is not Stage.GONE
    count = sum(each.topic == tp.topic for each in cluster.records.assignments)
    groups = tuple(
        SavedGroup(name, tp.partition, {of: LoggedOffset(stored, 0) for of, stored in sorted(offsets.items())})
        for name, offsets in sorted(cluster.committed.items())
        if offsets and partition_of_group(name, count) == tp.partition
    )
    return OffsetsReplay(tp, failure.conflicts if failure is not None and there else (), groups)


def key_left(cluster: MemoryParts, tp: TopicPartition, key: bytes) -> Mapping[int, KeyLeft]:
    _leader(cluster, tp)
    failure = cluster.load_failures.get(tp)
    return {
        b: KeyLeft(error="no answer")
        if not cluster.brokers[b].answers
        else KeyLeft()
        if failure is None
        else failure.left(b, key)
        for b in cluster.records.assignments[tp].replicas
    }


def delete_key(cluster: MemoryParts, tp: TopicPartition, key: bytes) -> ChangeResult:
    try:
        _leader(cluster, tp)
    except UnreachableError as error:
        return ChangeResult(41, "NOT_SENT", str(error))
    own = cluster.records.topic_configs.get(tp.topic, {})
    failure = cluster.load_failures.get(tp)
    if failure is not None:
        failure.append(key, hastened=own.items() >= _HASTENED.items())
    return _DONE


def _leader(cluster: MemoryParts, tp: TopicPartition) -> int:
    state = cluster.records.states.get(tp)
    if state is None or state.leader == NO_LEADER or not cluster.brokers[state.leader].answers:
        raise UnreachableError(f"{tp}: no leader answers")
    return state.leader
