"""Requests about one resource or one replica, each over the connection to one broker."""

import time

from kfix.core.errors import UnreachableError
from kfix.core.kafka import group_messages, requests
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.new_groups import ask_group_description
from kfix.core.kafka.requests import PartitionOffset
from kfix.core.snapshot.offsets import GroupOffsets, StoredOffset
from kfix.core.snapshot.reading import ConfigValue, LogDirs, LogTail, ResourceKind, StableEnd
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline

_RESOURCE = {ResourceKind.TOPIC: requests.TOPIC_RESOURCE, ResourceKind.BROKER: requests.BROKER_RESOURCE}
#: Sources in DescribeConfigs of a value that is set on the resource itself (KIP-226).
_OWN_SOURCE = {ResourceKind.TOPIC: 1, ResourceKind.BROKER: 2}
#: UNSTABLE_OFFSET_COMMIT: an open transaction holds the offset.
UNSTABLE = 88
_DAY_MS = 24 * 3600 * 1000


def resource_type(kind: ResourceKind) -> int:
    return _RESOURCE[kind]


def ask_configs_of(
    line: BrokerConnection, kind: ResourceKind, name: str, keys: tuple[str, ...], deadline: Deadline
) -> dict[str, ConfigValue]:
    """Returns configs of a resource. Raises UnreachableError if it does not exist or must not be read."""
    request = requests.describe_configs(resource_type(kind), (name,), keys)
    found = line.call(request, deadline)
    if not found or found[0].error:
        why = f"{name_of(found[0].error)} {found[0].message}".strip() if found else "an empty response"
        raise UnreachableError(f"configs of {kind} {name}: {why}")
    own, config = _OWN_SOURCE[kind], found[0]
    return {
        key: ConfigValue(config.values.get(key), own=source == own)
        for key, source in config.sources.items()
        if key in keys
    }


def ask_log_dirs(line: BrokerConnection, broker: int, deadline: Deadline) -> LogDirs:
    """Returns the log directories of a broker. A failed directory is left out if another one works.

    Raises UnreachableError if all directories failed, or the broker refuses.
    """
    with_room = line.supports(requests.DESCRIBE_LOG_DIRS, requests.WITH_ROOM, deadline)
    error, dirs = line.call(requests.describe_log_dirs(with_room=with_room), deadline)
    if error:
        raise UnreachableError(f"broker {broker}: log directories: {name_of(error)}")
    if not dirs:
        # Before version 3, this is how a broker refuses the request (KafkaApis.handleDescribeLogDirsRequest).
        raise UnreachableError(
            f"broker {broker}: lists no log directories: the DESCRIBE permission on CLUSTER is required"
        )
    good = [each for each in dirs if not each.error]
    if not good:
        errors = "; ".join(f"{each.path}: {name_of(each.error)}" for each in dirs)
        raise UnreachableError(f"broker {broker}: log directory {errors}")
    sizes: dict[TopicPartition, int] = {}
    for each in good:
        for tp, size in each.sizes.items():
            sizes[tp] = sizes.get(tp, 0) + size
    room = [each.usable for each in good if each.usable is not None]
    return LogDirs(sizes, sum(room) if len(room) == len(good) else None)


def ask_log_tail(line: BrokerConnection, tp: TopicPartition, deadline: Deadline) -> LogTail:
    """Returns log end offset and last epoch of a replica, even without a leader.

    ListOffsets LATEST does not return the epoch of the last record; a search by time does (docs/facts/data-loss.md).
    """
    searches = [requests.list_offsets((tp,), when) for when in (requests.LATEST, requests.EARLIEST)]
    latest, earliest = (each.get(tp) for each in line.call_many(searches, deadline))
    if latest is None or earliest is None:
        return LogTail(-1, -1, -1, "the response of the broker lacks this partition")
    if latest.error or earliest.error:
        return LogTail(-1, -1, -1, name_of(latest.error or earliest.error))
    if latest.offset <= earliest.offset:
        return LogTail(earliest.offset, latest.offset)
    return LogTail(earliest.offset, latest.offset, _last_epoch(line, tp, latest.offset, deadline))


def ask_group(line: BrokerConnection, group: str, tps: tuple[TopicPartition, ...], deadline: Deadline) -> GroupOffsets:
    """Returns state and committed offsets of a group, from its coordinator.

    Raises UnreachableError if the broker refuses, or is older than 2.5 and cannot show pending offsets.
    """
    if not line.supports(group_messages.OFFSET_FETCH, group_messages.STABLE_OFFSETS, deadline):
        raise UnreachableError(f"{line.endpoint}: group {group}: the broker is older than Kafka 2.5")
    described = ask_group_description(line, group, deadline)
    error, found = line.call(group_messages.stable_offset_fetch(group, tps), deadline)
    first = described.error or error or next((e.error for e in found.values() if e.error not in {0, UNSTABLE}), 0)
    if first or set(found) != set(tps):
        why = name_of(first) if first else "the response lacks a partition"
        raise UnreachableError(f"{line.endpoint}: group {group}: {why}")
    committed = {
        tp: StoredOffset(each.offset, each.leader_epoch, each.metadata) if each.offset >= 0 else None
        for tp, each in found.items()
    }
    unstable = tuple(sorted(tp for tp, each in found.items() if each.error == UNSTABLE))
    return GroupOffsets(group, described.state, committed, unstable)


def _last_epoch(line: BrokerConnection, tp: TopicPartition, end: int, deadline: Deadline) -> int:
    """Returns the leader epoch of the record with the largest timestamp, by binary search with at most 43 requests.

    Where timestamps go backward, this is not the last record, and the epoch is a lower bound. -1: no timestamps.
    """

    def first_since(time_ms: int) -> PartitionOffset:
        found = line.call(requests.list_offsets((tp,), time_ms), deadline).get(tp)
        if found is None or found.error:
            raise UnreachableError(f"{line.endpoint}: {tp}: {name_of(found.error) if found else 'an empty response'}")
        return found

    last = first_since(0)
    after = int(time.time() * 1000) + _DAY_MS
    while last.offset >= 0 and last.offset < end - 1 and after - last.timestamp > 1:
        middle = (max(last.timestamp, 0) + after) // 2
        found = first_since(middle)
        if found.offset < 0:
            after = middle
        else:
            last = found
    return last.leader_epoch if last.offset >= 0 else -1


def ask_stable_end(line: BrokerConnection, tp: TopicPartition, deadline: Deadline) -> StableEnd:
    """Returns high watermark (isolation level 0) and last stable offset (1), as the leader shows them to a consumer."""
    high, stable = (each.get(tp) for each in line.call_many(requests.high_and_stable((tp,)), deadline))
    if high is None or stable is None:
        raise UnreachableError(f"{line.endpoint}: {tp}: the response lacks this partition")
    if high.error or stable.error:
        raise UnreachableError(f"{line.endpoint}: {tp}: {name_of(high.error or stable.error)}")
    return StableEnd(stable.offset, high.offset)
