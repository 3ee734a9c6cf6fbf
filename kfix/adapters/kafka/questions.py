"""Questions about one resource or one replica, each over one broker's own line."""

from __future__ import annotations

import time

from kfix.adapters.deadline import Deadline
from kfix.adapters.kafka import requests, resources, responses
from kfix.adapters.kafka.codes import name_of
from kfix.adapters.kafka.connection import BrokerConnection
from kfix.adapters.kafka.responses import PartitionOffset
from kfix.errors import UnreachableError
from kfix.model.cluster.reading import ConfigValue, LogDirs, LogTail, ResourceKind, StableEnd
from kfix.model.cluster.snapshot import TopicPartition

_RESOURCE = {ResourceKind.TOPIC: requests.TOPIC_RESOURCE, ResourceKind.BROKER: requests.BROKER_RESOURCE}
#: DescribeConfigs' sources of a value that is set on the resource itself (KIP-226).
_OWN_SOURCE = {ResourceKind.TOPIC: 1, ResourceKind.BROKER: 2}
_CONSUMER = -1
_READ_COMMITTED = 1
_DAY_MS = 24 * 3600 * 1000


def resource_type(kind: ResourceKind) -> int:
    return _RESOURCE[kind]


def ask_configs_of(
    line: BrokerConnection, kind: ResourceKind, name: str, keys: tuple[str, ...], deadline: Deadline
) -> dict[str, ConfigValue]:
    """Raises where the resource does not exist or may not be read: that is no empty answer."""
    asked = requests.describe_configs(resource_type(kind), (name,), keys)
    found = line.call(asked, responses.describe_configs, deadline)
    if not found or found[0].error:
        why = f"{name_of(found[0].error)} {found[0].message}".strip() if found else "an empty answer"
        raise UnreachableError(f"configs of {kind} {name}: {why}")
    own, said = _OWN_SOURCE[kind], found[0]
    return {
        key: ConfigValue(said.values.get(key), own=source == own) for key, source in said.sources.items() if key in keys
    }


def ask_log_dirs(line: BrokerConnection, broker: int, deadline: Deadline) -> LogDirs:
    """A directory that failed is left out while others answer: its replicas are offline and take no room."""
    with_room = line.supports(requests.DESCRIBE_LOG_DIRS, 4, deadline)
    decode = resources.log_dirs_with_room if with_room else resources.log_dirs
    error, dirs = line.call(requests.describe_log_dirs(with_room=with_room), decode, deadline)
    if error:
        raise UnreachableError(f"broker {broker}: log directories: {name_of(error)}")
    if not dirs:
        # Before version 3 a broker has no other way to refuse (KafkaApis.handleDescribeLogDirsRequest).
        raise UnreachableError(f"broker {broker}: tells none of its log directories: DESCRIBE on CLUSTER is needed")
    good = [each for each in dirs if not each.error]
    if not good:
        told = "; ".join(f"{each.path}: {name_of(each.error)}" for each in dirs)
        raise UnreachableError(f"broker {broker}: log directory {told}")
    sizes: dict[TopicPartition, int] = {}
    for each in good:
        for tp, size in each.sizes.items():
            sizes[tp] = sizes.get(tp, 0) + size
    room = [each.usable for each in good if each.usable is not None]
    return LogDirs(sizes, sum(room) if len(room) == len(good) else None)


def ask_log_tail(line: BrokerConnection, tp: TopicPartition, deadline: Deadline) -> LogTail:
    """Without a leader too. LATEST does not tell the last record's epoch, a search by time does (kafka-facts F)."""
    asked = [requests.list_offsets((tp,), when) for when in (requests.LATEST, requests.EARLIEST)]
    latest, earliest = (each.get(tp) for each in line.call_many(asked, responses.list_offsets, deadline))
    if latest is None or earliest is None:
        return LogTail(-1, -1, -1, "the broker did not answer for this partition")
    if latest.error or earliest.error:
        return LogTail(-1, -1, -1, name_of(latest.error or earliest.error))
    if latest.offset <= earliest.offset:
        return LogTail(earliest.offset, latest.offset)
    return LogTail(earliest.offset, latest.offset, _last_epoch(line, tp, latest.offset, deadline))


def _last_epoch(line: BrokerConnection, tp: TopicPartition, end: int, deadline: Deadline) -> int:
    """Of the record with the largest time, found by halving the time since 1970: 43 questions at most.

    Where producers' clocks run backwards that is not the last record, and its epoch a lower bound. -1: none has a time.
    """

    def first_since(time_ms: int) -> PartitionOffset:
        found = line.call(requests.list_offsets((tp,), time_ms), responses.list_offsets, deadline).get(tp)
        if found is None or found.error:
            raise UnreachableError(f"{line.endpoint}: {tp}: {name_of(found.error) if found else 'an empty answer'}")
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
    """Asked as a consumer, whom only the leader answers: 0 gives the high watermark, 1 the last stable offset."""
    asked = [
        requests.list_offsets((tp,), requests.LATEST, replica=_CONSUMER, isolation=isolation)
        for isolation in (0, _READ_COMMITTED)
    ]
    high, stable = (each.get(tp) for each in line.call_many(asked, responses.list_offsets, deadline))
    if high is None or stable is None:
        raise UnreachableError(f"{line.endpoint}: {tp}: no answer for this partition")
    if high.error or stable.error:
        raise UnreachableError(f"{line.endpoint}: {tp}: {name_of(high.error or stable.error)}")
    return StableEnd(stable.offset, high.offset)
