"""The answers of the in-memory cluster's brokers about groups and logs."""

from collections.abc import Mapping

from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.snapshot.group_reading import GroupMembers, LastGeneration
from kfix.core.snapshot.load_conflicts import KeyLeft, OffsetsReplay
from kfix.core.snapshot.offsets import GroupOffsets, LoggedOffset, LoggedRecord, SavedGroup, StoredOffset
from kfix.core.snapshot.reading import ChangeResult, LogDirs, LogTail, PartitionReading, StableEnd
from kfix.core.snapshot.snapshot import NO_LEADER, CoordinatorProbe, LogEnd, TopicPartition
from kfix.heal.memory.load_failures import Stage
from kfix.heal.memory.parts import MemoryParts
from kfix.heal.memory.state import MemoryBroker


def reading(cluster: MemoryParts, tp: TopicPartition) -> PartitionReading:
    down = cluster.faults.unreadable.get(cluster.authority)
    views = {b.id: b.views[tp] for b in cluster.brokers.values() if b.answers and tp in b.views}
    errors = [f"broker {b.id}: {b.silent}" for b in cluster.brokers.values() if b.alive and b.silent]
    if down is not None:
        return PartitionReading(tp, None, None, None, views, (f"{cluster.authority}: {down}", *errors))
    assignment, state = cluster.records.assignments.get(tp), cluster.records.states.get(tp)
    full = state is None or (assignment is not None and set(state.isr) == set(assignment.replicas))
    eligible = None if full else cluster.eligible(tp)
    return PartitionReading(tp, state, assignment, cluster.control.live, views, tuple(errors), eligible)


def probe_group(cluster: MemoryParts, group: str) -> CoordinatorProbe:
    count = sum(tp.topic == OFFSETS_TOPIC for tp in cluster.records.assignments)
    tp = TopicPartition(OFFSETS_TOPIC, partition_of_group(group, max(count, 1)))
    asked = next((b for b in cluster.brokers.values() if b.answers), None)
    if asked is None:
        return CoordinatorProbe(group, tp.partition, -1, None, None, error="no broker answers")
    view = asked.views.get(tp)
    if view is None or view.leader == NO_LEADER or view.error:
        return CoordinatorProbe(group, tp.partition, 15, None, None)
    return _fetch(cluster, group, tp, cluster.brokers[view.leader])


def _fetch(cluster: MemoryParts, group: str, tp: TopicPartition, broker: MemoryBroker) -> CoordinatorProbe:
    if not broker.answers:
        why = broker.silent or "connection refused"
        return CoordinatorProbe(group, tp.partition, 0, broker.id, -1, error=why)
    if tp not in broker.leading:
        return CoordinatorProbe(group, tp.partition, 0, broker.id, 16)
    failure, state = cluster.load_failures.get(tp), cluster.records.states[tp]
    if failure is not None and failure.refuses(broker.id, state.leader_epoch):
        return CoordinatorProbe(group, tp.partition, 0, broker.id, 16)
    if cluster.loading.get(tp.partition, 0) > 0:
        cluster.loading[tp.partition] -= 1
        return CoordinatorProbe(group, tp.partition, 0, broker.id, 14)
    return CoordinatorProbe(group, tp.partition, 0, broker.id, 0, cluster.groups.get(group))


def log_ends(cluster: MemoryParts, tp: TopicPartition, brokers: tuple[int, ...]) -> Mapping[int, LogEnd]:
    return {b: _log_end(cluster, tp, b) for b in brokers}


def _log_end(cluster: MemoryParts, tp: TopicPartition, number: int) -> LogEnd:
    broker = cluster.brokers.get(number)
    if broker is None or not broker.answers:
        return LogEnd(-1, -1, "no answer")
    if tp in broker.offline:
        return LogEnd(-1, -1, "KAFKA_STORAGE_ERROR")
    return cluster.logs.end(tp, number) or LogEnd(-1, -1, "no such replica")


def log_tails(cluster: MemoryParts, tp: TopicPartition, brokers: tuple[int, ...]) -> Mapping[int, LogTail]:
    ends = log_ends(cluster, tp, brokers)
    return {b: LogTail(e.start, e.end, -1 if e.error else cluster.logs.epoch(tp, b), e.error) for b, e in ends.items()}


def log_dirs(cluster: MemoryParts, number: int) -> LogDirs:
    broker = cluster.brokers.get(number)
    if broker is None or not broker.answers:
        why = "is not registered" if broker is None else broker.silent or "connection refused"
        raise UnreachableError(f"broker {number}: {why}")
    hosted = {tp: cluster.logs.bytes(tp, number) for tp, ends in cluster.logs.ends.items() if number in ends}
    return LogDirs(hosted, broker.free)


def stable_end(cluster: MemoryParts, tp: TopicPartition) -> StableEnd:
    state = cluster.records.states.get(tp)
    if state is None or state.leader == NO_LEADER:
        raise UnreachableError(f"{tp}: {'has no leader' if state else 'does not exist'}: no stable end can be asked")
    leader = cluster.brokers.get(state.leader)
    if leader is None or not leader.answers:
        raise UnreachableError(f"broker {state.leader}: does not answer")
    if tp not in leader.leading:
        raise UnreachableError(f"broker {state.leader}: {tp}: NOT_LEADER_OR_FOLLOWER")
    high = (cluster.logs.end(tp, state.leader) or LogEnd(0, 0)).end
    return StableEnd(min(high, cluster.logs.open_transactions.get(tp, high)), high)


def logged_record(cluster: MemoryParts, tp: TopicPartition, offset: int) -> LoggedRecord:
    """Returns a record whose value is its place. Raises RefusedError below the log start, and from a transaction on."""
    end = stable_end(cluster, tp)
    start = (cluster.logs.end(tp, cluster.records.states[tp].leader) or LogEnd(0, 0)).start
    if not start <= offset < end.stable:
        raise RefusedError(f"{tp}: there is no record at offset {offset}")
    return LoggedRecord(tp, offset, 0, 0, False, None, f"{tp}@{offset}".encode())


def group(cluster: MemoryParts, name: str, tps: tuple[TopicPartition, ...]) -> GroupOffsets:
    _require_coordinator(cluster, name)
    stored = cluster.committed.get(name, {})
    unstable = tuple(sorted(tp for tp in tps if tp in cluster.pending.get(name, {})))
    return GroupOffsets(name, group_members(cluster, name).state, {tp: stored.get(tp) for tp in tps}, unstable)


def group_members(cluster: MemoryParts, name: str) -> GroupMembers:
    _require_coordinator(cluster, name)
    if name in cluster.joined:
        return cluster.joined[name].described()
    state = "Stable" if name in cluster.members else "Empty" if cluster.committed.get(name) else "Dead"
    return GroupMembers(name, state, ())


def last_generation(cluster: MemoryParts, name: str) -> LastGeneration:
    _require_coordinator(cluster, name)
    return cluster.joined[name].logged() if name in cluster.joined else LastGeneration()


def evict_member(cluster: MemoryParts, name: str, member: str, instance: str) -> ChangeResult:
    if not probe_group(cluster, name).answers:
        return ChangeResult(41, "NOT_SENT", f"group {name}: its coordinator does not answer")
    if name not in cluster.joined:
        return ChangeResult(25, "UNKNOWN_MEMBER_ID", f"member {member}")
    return cluster.joined[name].leave(member, instance)


def _require_coordinator(cluster: MemoryParts, name: str) -> None:
    probe = probe_group(cluster, name)
    if not probe.answers:
        raise UnreachableError(f"group {name}: its coordinator does not answer: {probe.error or probe.find_error}")


def commit_offsets(
    cluster: MemoryParts, name: str, offsets: Mapping[TopicPartition, StoredOffset | None]
) -> ChangeResult:
    if not probe_group(cluster, name).answers:
        return ChangeResult(41, "NOT_SENT", f"group {name}: its coordinator does not answer")
    if name in cluster.members or (name in cluster.joined and cluster.joined[name].members):
        return ChangeResult(25, "UNKNOWN_MEMBER_ID")
    for tp in offsets:
        if tp not in cluster.records.assignments:
            return ChangeResult(3, "UNKNOWN_TOPIC_OR_PARTITION", str(tp))
    stored = cluster.committed.setdefault(name, {})
    for tp, each in offsets.items():
        if each is None:
            stored.pop(tp, None)
        else:
            stored[tp] = each
    return ChangeResult(0, "NONE")


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
