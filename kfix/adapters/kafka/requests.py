"""The requests that kfix sends: API keys, pinned versions, and which of them change a cluster.

The versions are the newest non-flexible ones that all brokers from 2.4 to 4.3 support (docs/facts/client-apis.md,
docs/facts/kraft.md), so nothing is negotiated, with two exceptions: DescribeLogDirs returns the free space from version
4 on, and what only newer brokers have is in `kraft_messages` and `new_groups`. The reassignment APIs only exist in
flexible encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kfix.adapters.kafka.codec import Writer
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.model.cluster.offsets import StoredOffset

PRODUCE = 0
FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 1, 2, 3, 8, 9, 10
LEAVE_GROUP, DESCRIBE_GROUPS, LIST_GROUPS, SASL_HANDSHAKE, API_VERSIONS = 13, 15, 16, 17, 18
INIT_PRODUCER_ID, OFFSET_FOR_LEADER_EPOCH = 22, 23
DESCRIBE_CONFIGS, DESCRIBE_LOG_DIRS, SASL_AUTHENTICATE = 32, 35, 36
ELECT_LEADERS, INCREMENTAL_ALTER_CONFIGS, ALTER_REASSIGNMENTS, LIST_REASSIGNMENTS, OFFSET_DELETE = 43, 44, 45, 46, 47
DESCRIBE_QUORUM, DESCRIBE_CLUSTER, UNREGISTER_BROKER, DESCRIBE_TOPIC_PARTITIONS = 55, 60, 64, 75
CONSUMER_GROUP_DESCRIBE, SHARE_GROUP_DESCRIBE, STREAMS_GROUP_DESCRIBE, SHARE_OFFSETS = 69, 77, 89, 90

#: The APIs that a read-only connection sends. All others are refused before a byte is sent.
READ_ONLY = frozenset(
    {
        FETCH,
        LIST_OFFSETS,
        METADATA,
        OFFSET_FETCH,
        FIND_COORDINATOR,
        DESCRIBE_GROUPS,
        LIST_GROUPS,
        OFFSET_FOR_LEADER_EPOCH,
        SASL_HANDSHAKE,
        API_VERSIONS,
        DESCRIBE_CONFIGS,
        DESCRIBE_LOG_DIRS,
        SASL_AUTHENTICATE,
        LIST_REASSIGNMENTS,
        DESCRIBE_QUORUM,
        DESCRIBE_CLUSTER,
        DESCRIBE_TOPIC_PARTITIONS,
        CONSUMER_GROUP_DESCRIBE,
        SHARE_GROUP_DESCRIBE,
        STREAMS_GROUP_DESCRIBE,
        SHARE_OFFSETS,
    }
)

BROKER_RESOURCE, TOPIC_RESOURCE = 4, 2
LATEST, EARLIEST = -1, -2
#: Replica id of a debugging consumer, which every replica answers; -1 is a consumer, for the leader only.
#: Source: docs/facts/data-loss.md.
DEBUGGING_REPLICA = -2
CONSUMER = -1
#: The first version of OffsetFetch that can require stable offsets (Kafka 2.5); it only has the flexible encoding.
STABLE_OFFSETS = 7
#: The first version of InitProducerId that names the producer id and epoch which it expects.
EXPECTED_PRODUCER = 3
#: The only client.id from which brokers accept records for internal topics (docs/facts/consumer-groups.md).
INTERNAL_CLIENT = "__admin_client"
_ALL_IN_SYNC = -1


@dataclass(frozen=True, slots=True)
class Request:
    api_key: int
    version: int
    body: bytes
    flexible: bool = False
    client: str = "kfix"


def api_versions() -> Request:
    return Request(API_VERSIONS, 0, b"")


def metadata(topics: tuple[str, ...] | None = None) -> Request:
    """Requests all topics by default. Auto-creation is disabled: reading must not create a topic."""
    w = Writer().array(topics, Writer.string)
    return Request(METADATA, 7, w.i8(0).done())


def find_coordinator(group: str) -> Request:
    """Creates a missing `__consumer_offsets` (KafkaApis.scala:1395), so send it only if the topic exists."""
    return Request(FIND_COORDINATOR, 1, Writer().string(group).i8(0).done())


def find_transaction_coordinator(transactional_id: str) -> Request:
    """Creates a missing `__transaction_state`, so send it only if the topic exists."""
    return Request(FIND_COORDINATOR, 1, Writer().string(transactional_id).i8(1).done())


def offset_fetch(group: str) -> Request:
    return Request(OFFSET_FETCH, 5, Writer().string(group).i32(-1).done())


def stable_offset_fetch(group: str, tps: tuple[TopicPartition, ...]) -> Request:
    """Requests the committed offsets of named partitions, and error 88 for those that an open transaction holds.

    A request without names leaves such a partition out if it has no earlier offset (docs/facts/consumer-groups.md).
    """

    def topic(w: Writer, item: tuple[str, list[int]]) -> None:
        w.compact_string(item[0]).compact_array(item[1], Writer.i32).no_tags()

    w = Writer().compact_string(group).compact_array(_by_topic(tps), topic).i8(1).no_tags()
    return Request(OFFSET_FETCH, STABLE_OFFSETS, w.done(), flexible=True)


def fetch(tp: TopicPartition, offset: int, most_bytes: int) -> Request:
    """Requests records from an offset on, uncommitted ones too, from the leader or any other replica, without waiting.

    Up to `most_bytes` bytes, and at least one batch. Not within a fetch session: the broker keeps nothing.
    """

    def partition(w: Writer, index: int) -> None:
        w.i32(index).i32(-1).i64(offset).i64(-1).i32(most_bytes)

    def topic(w: Writer, item: TopicPartition) -> None:
        w.string(item.topic).array((item.partition,), partition)

    w = Writer().i32(CONSUMER).i32(0).i32(0).i32(most_bytes).i8(0).i32(0).i32(-1)
    return Request(FETCH, 11, w.array((tp,), topic).array((), Writer.string).string("").done())


def produce(tp: TopicPartition, batch: bytes, timeout_ms: int) -> Request:
    """Appends a batch to a partition of an internal topic, acknowledged by all replicas in sync."""

    def partition(w: Writer, index: int) -> None:
        w.i32(index).blob(batch)

    def topic(w: Writer, item: TopicPartition) -> None:
        w.string(item.topic).array((item.partition,), partition)

    w = Writer().string(None).i16(_ALL_IN_SYNC).i32(timeout_ms).array((tp,), topic)
    return Request(PRODUCE, 7, w.done(), client=INTERNAL_CLIENT)


def list_groups() -> Request:
    return Request(LIST_GROUPS, 2, b"")


def describe_groups(groups: tuple[str, ...]) -> Request:
    return Request(DESCRIBE_GROUPS, 2, Writer().array(groups, Writer.string).done())


def describe_members(group: str) -> Request:
    """Requests one group with the group.instance.id of its members (version 4 on)."""
    return Request(DESCRIBE_GROUPS, 4, Writer().array((group,), Writer.string).i8(0).done())


def describe_configs(
    kind: int, names: tuple[str, ...], keys: tuple[str, ...] | None, *, synonyms: bool = False
) -> Request:
    """Requests these keys, or all with None.

    With `synonyms`, the response contains all sources of a key, including the built-in default of the broker.
    """

    def resource(w: Writer, name: str) -> None:
        w.i8(kind).string(name).array(keys, Writer.string)

    return Request(DESCRIBE_CONFIGS, 1, Writer().array(names, resource).i8(int(synonyms)).done())


def alter_configs(kind: int, name: str, changes: Mapping[str, str | None]) -> Request:
    """Changes each key on its own: SET (0), or DELETE (1) for `None`. Other keys stay as they are (KIP-339)."""

    def config(w: Writer, item: tuple[str, str | None]) -> None:
        w.string(item[0]).i8(1 if item[1] is None else 0).string(item[1])

    def resource(w: Writer, items: list[tuple[str, str | None]]) -> None:
        w.i8(kind).string(name).array(items, config)

    return Request(INCREMENTAL_ALTER_CONFIGS, 0, Writer().array([list(changes.items())], resource).i8(0).done())


def describe_log_dirs(*, with_room: bool, tps: tuple[TopicPartition, ...] | None = None) -> Request:
    """Requests all partitions, or in version 1 these ones. `with_room` uses version 4 (Kafka 3.3), with total and
    usable bytes per directory.
    """
    if with_room:
        return Request(DESCRIBE_LOG_DIRS, 4, Writer().compact_array(None, Writer.i32).no_tags().done(), flexible=True)

    def topic(w: Writer, item: tuple[str, list[int]]) -> None:
        w.string(item[0]).array(item[1], Writer.i32)

    return Request(DESCRIBE_LOG_DIRS, 1, Writer().array(None if tps is None else _by_topic(tps), topic).done())


#: partition, leader epoch, timestamp
_OFFSET_OF = struct.Struct(">iiq")


def list_offsets(
    tps: tuple[TopicPartition, ...], timestamp: int, *, replica: int = DEBUGGING_REPLICA, isolation: int = 0
) -> Request:
    """`isolation` applies only to consumers (`replica` -1): 0 requests the high watermark, 1 the last stable offset."""
    pack = _OFFSET_OF.pack

    def topic(w: Writer, item: tuple[str, list[int]]) -> None:
        w.string(item[0]).i32(len(item[1])).raw(b"".join([pack(index, -1, timestamp) for index in item[1]]))

    w = Writer().i32(replica).i8(isolation).array(_by_topic(tps), topic)
    return Request(LIST_OFFSETS, 5, w.done())


def epoch_ends(epochs: Mapping[TopicPartition, int], *, current: bool = False) -> Request:
    """Requests where these leader epochs ended. Only a replica that considers itself leader answers.

    With `current`, they are sent as the epochs of the current leaders, too: a leader of an older epoch refuses with 75.

    Source: docs/facts/data-loss.md.
    """

    def partition(w: Writer, tp: TopicPartition) -> None:
        w.i32(tp.partition).i32(epochs[tp] if current else -1).i32(epochs[tp])

    def topic(w: Writer, item: tuple[str, list[int]]) -> None:
        w.string(item[0]).array([TopicPartition(item[0], index) for index in item[1]], partition)

    return Request(OFFSET_FOR_LEADER_EPOCH, 2, Writer().array(_by_topic(tuple(epochs)), topic).done())


def list_reassignments(timeout_ms: int = 3000) -> Request:
    return Request(LIST_REASSIGNMENTS, 0, Writer().i32(timeout_ms).uvarint(0).no_tags().done(), flexible=True)


def elect_leaders(tp: TopicPartition, *, unclean: bool, timeout_ms: int) -> Request:
    def topic(w: Writer, item: TopicPartition) -> None:
        w.string(item.topic).array((item.partition,), Writer.i32)

    w = Writer().i8(1 if unclean else 0).array((tp,), topic).i32(timeout_ms)
    return Request(ELECT_LEADERS, 1, w.done())


def alter_reassignment(tp: TopicPartition, replicas: tuple[int, ...] | None, timeout_ms: int) -> Request:
    def partition(w: Writer, index: int) -> None:
        w.i32(index).compact_array(replicas, Writer.i32).no_tags()

    def topic(w: Writer, item: TopicPartition) -> None:
        w.compact_string(item.topic).compact_array((item.partition,), partition).no_tags()

    w = Writer().i32(timeout_ms).compact_array((tp,), topic).no_tags()
    return Request(ALTER_REASSIGNMENTS, 0, w.done(), flexible=True)


def offset_commit(group: str, offsets: Mapping[TopicPartition, StoredOffset]) -> Request:
    """Commits as a consumer outside the group (generation -1, no member); refused while the group has members."""

    def partition(w: Writer, item: tuple[TopicPartition, StoredOffset]) -> None:
        tp, stored = item
        w.i32(tp.partition).i64(stored.offset).i32(stored.leader_epoch).string(stored.metadata)

    def topic(w: Writer, name: str) -> None:
        w.string(name).array([item for item in offsets.items() if item[0].topic == name], partition)

    w = Writer().string(group).i32(-1).string("").string(None)
    return Request(OFFSET_COMMIT, 7, w.array(tuple(dict.fromkeys(tp.topic for tp in offsets)), topic).done())


def offset_delete(group: str, tps: tuple[TopicPartition, ...]) -> Request:
    """Deletes committed offsets (KIP-496, Kafka 2.4)."""

    def topic(w: Writer, item: tuple[str, list[int]]) -> None:
        w.string(item[0]).array(item[1], Writer.i32)

    return Request(OFFSET_DELETE, 0, Writer().string(group).array(_by_topic(tps), topic).done())


def leave_group(group: str, member: str, instance: str) -> Request:
    """Removes one member from its group (KIP-345, Kafka 2.4). `instance` is "" for a dynamic member.

    The coordinator removes a static member by its group.instance.id, and refuses with FENCED_INSTANCE_ID if another
    member id has that instance by now.
    """

    def identity(w: Writer, _: None) -> None:
        w.string(member).string(instance or None)

    return Request(LEAVE_GROUP, 3, Writer().string(group).array((None,), identity).done())


def init_producer_id(transactional_id: str, producer: int, epoch: int, timeout_ms: int) -> Request:
    """Takes a transactional.id over, which aborts its open transaction (version 3, Kafka 2.5; only flexible).

    The coordinator refuses it (47) unless the transactional.id still has this producer id. It compares the epoch only
    if no transaction is open: with one, another epoch aborts it as well (docs/facts/consumer-groups.md).
    """
    w = Writer().compact_string(transactional_id).i32(timeout_ms).i64(producer).i16(epoch).no_tags()
    return Request(INIT_PRODUCER_ID, EXPECTED_PRODUCER, w.done(), flexible=True)


def unregister_broker(broker: int) -> Request:
    """Removes the registration of a broker (KRaft, any version); a broker forwards it to the active controller."""
    return Request(UNREGISTER_BROKER, 0, Writer().i32(broker).no_tags().done(), flexible=True)


def sasl_handshake(mechanism: str) -> Request:
    return Request(SASL_HANDSHAKE, 1, Writer().string(mechanism).done())


def sasl_authenticate(token: bytes) -> Request:
    return Request(SASL_AUTHENTICATE, 0, Writer().blob(token).done())


def _by_topic(tps: tuple[TopicPartition, ...]) -> list[tuple[str, list[int]]]:
    grouped: dict[str, list[int]] = {}
    for tp in tps:
        grouped.setdefault(tp.topic, []).append(tp.partition)
    return list(grouped.items())
