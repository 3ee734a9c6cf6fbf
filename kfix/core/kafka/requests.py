"""The requests about partitions, their records and replicas, and configs: declarations, and the results of responses.

The versions are the newest non-flexible ones that all brokers from 2.4 to 4.3 support (docs/facts/client-apis.md,
docs/facts/kraft.md), so nothing is negotiated, with two exceptions: DescribeLogDirs returns the free space from version
4 on, and requests of newer brokers only are in `kraft_messages` and `new_groups`. The reassignment APIs exist only in
flexible encoding. The requests about consumer groups and transactions are in `group_messages`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, TypeVar

from kfix.core.kafka.api import Api, Request
from kfix.core.kafka.codec import Rows
from kfix.core.kafka.codes import CLUSTER, NO_ANSWER, TOPIC
from kfix.core.kafka.metadata import HEAD, WITH_IDS, MetadataResponse, Shared, decoded
from kfix.core.snapshot.snapshot import Assignment, TopicPartition

T = TypeVar("T")

BROKER_RESOURCE, TOPIC_RESOURCE = 4, 2
LATEST, EARLIEST = -1, -2
#: Replica id of a debugging consumer, which every replica answers; -1 is a consumer, for the leader only.
#: Source: docs/facts/data-loss.md.
DEBUGGING_REPLICA = -2
CONSUMER = -1
#: The first version of DescribeLogDirs with the total and usable bytes of each directory (Kafka 3.3).
WITH_ROOM = 4
#: The only client.id from which brokers accept records for internal topics (docs/facts/consumer-groups.md).
INTERNAL_CLIENT = "__admin_client"
_NO_RESOURCE = "the response of the broker lacks the resource"
#: The source of a built-in default in DescribeConfigs.
_DEFAULT = 5


class PartitionOffset(NamedTuple):
    """An offset. `timestamp` (ms) and `leader_epoch` belong to the batch found by time; -1 for LATEST."""

    error: int
    offset: int
    timestamp: int = -1
    leader_epoch: int = -1


Offsets = dict[TopicPartition, PartitionOffset]


@dataclass(frozen=True, slots=True)
class FetchedRecords:
    """Raw record batches of one partition, the last of which may be truncated; offsets are -1 after an error."""

    error: int
    high_watermark: int
    start: int
    batches: bytes


@dataclass(frozen=True, slots=True)
class PartitionResult:
    error: int
    message: str


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    """Sensitive values are left out: the broker sends them as null, and they never enter a snapshot.

    `sources` has the source of every key: topic (1), broker (2), cluster-wide default (3), server.properties (4),
    default (5). `defaults` are the built-in defaults, if synonyms were requested.
    """

    name: str
    error: int
    message: str
    values: dict[str, str]
    sources: dict[str, int]
    defaults: dict[str, str]


@dataclass(frozen=True, slots=True)
class LogDirUsage:
    """One log directory. Sizes are in bytes; `usable` and `total` are None if the broker does not report them."""

    path: str
    error: int
    sizes: dict[TopicPartition, int]
    usable: int | None = None
    total: int | None = None


def by_topic(tps: Iterable[TopicPartition]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for topic, partition in tps:
        grouped.setdefault(topic, []).append(partition)
    return grouped


def by_partition(topics: Rows, make: Callable[..., T]) -> dict[TopicPartition, T]:
    """Calls `make` with (topic, (partition, ...)) of each row and returns the results by partition."""
    return {TopicPartition(topic, index): make(*row) for topic, rows in topics for index, *row in rows}


METADATA = Api(3, "topics:[_id:uuid@10 name:str]? _create:bool _operations:u16@8", HEAD, reads=True, flexible=9)


def metadata(
    topics: tuple[str, ...] | None = None, shared: Shared | None = None, *, ids: bool = False
) -> Request[MetadataResponse]:
    """Requests all topics by default, with their ids if `ids` is set, which Kafka 2.8 and newer support.

    Auto-creation is disabled: reading must not create a topic.
    """
    named = None if topics is None else [(topic,) for topic in topics]
    version = WITH_IDS if ids else 7
    return METADATA.ask_raw(version, (named,), lambda r: decoded(r, shared, version))


LIST_OFFSETS = Api(
    2,
    "replica:i32 isolation:i8 topics:[name:str partitions:[index:i32 leader_epoch:i32 time_ms:i64]]",
    "_throttle_ms:i32 topics:[name:str partitions:[index:i32 error:i16 time_ms:i64 offset:i64 leader_epoch:i32]]",
    reads=True,
)


def list_offsets(
    tps: tuple[TopicPartition, ...], timestamp: int, *, replica: int = DEBUGGING_REPLICA, isolation: int = 0
) -> Request[Offsets]:
    """`isolation` applies only to consumers (`replica` -1): 0 requests the high watermark, 1 the last stable offset."""
    rows = by_topic(tps).items()
    topics = [(topic, list(zip(indexes, repeat(-1), repeat(timestamp)))) for topic, indexes in rows]
    return LIST_OFFSETS.ask(5, (replica, isolation, topics), _offsets)


def high_and_stable(tps: tuple[TopicPartition, ...]) -> list[Request[Offsets]]:
    """Requests high watermarks, and then last stable offsets, as their leader shows them to a consumer.

    One that is read later and is still lower is held by a transaction.
    """
    return [list_offsets(tps, LATEST, replica=CONSUMER, isolation=isolation) for isolation in (0, 1)]


def _offsets(topics: Rows) -> Offsets:
    return by_partition(topics, lambda error, time_ms, offset, epoch: PartitionOffset(error, offset, time_ms, epoch))


OFFSET_FOR_LEADER_EPOCH = Api(
    23,
    "topics:[name:str partitions:[index:i32 current_epoch:i32 epoch:i32]]",
    "_throttle_ms:i32 topics:[name:str partitions:[error:i16 index:i32 epoch:i32 end:i64]]",
    reads=True,
)


def epoch_ends(epochs: Mapping[TopicPartition, int], *, current: bool = False) -> Request[Offsets]:
    """Requests where these leader epochs ended. Only a replica that considers itself leader answers.

    The response has the end offset of the requested epoch, or of the largest one below it, given by `leader_epoch`.
    With `current`, they are sent as the epochs of the current leaders, too: a leader of an older epoch refuses with 75.

    Source: docs/facts/data-loss.md.
    """

    def row(topic: str, index: int) -> tuple[int, int, int]:
        epoch = epochs[TopicPartition(topic, index)]
        return index, epoch if current else -1, epoch

    topics = [(topic, [row(topic, index) for index in indexes]) for topic, indexes in by_topic(epochs).items()]
    return OFFSET_FOR_LEADER_EPOCH.ask(2, (topics,), _epoch_ends)


def _epoch_ends(topics: Rows) -> Offsets:
    return {
        TopicPartition(topic, index): PartitionOffset(error, end, -1, epoch)
        for topic, partitions in topics
        for error, index, epoch, end in partitions
    }


FETCH = Api(
    1,
    "_replica:i32=-1 _wait_ms:i32 _min_bytes:i32 most_bytes:i32 isolation:i8 _session:i32 _session_epoch:i32=-1"
    " topics:[name:str partitions:[index:i32 _epoch:i32=-1 offset:i64 _log_start:i64=-1 most_bytes:i32]]"
    " _forgotten:[name:str partitions:i32s] _rack:str",
    "_throttle_ms:i32 error:i16 _session:i32 topics:[_name:str partitions:[_index:i32 error:i16 high_watermark:i64"
    " _last_stable:i64 start:i64 _aborted:[_producer:i64 _first:i64] _replica:i32 records:blob]]",
    reads=True,
    operations={TOPIC: "Read"},
)


def fetch(tp: TopicPartition, offset: int, most_bytes: int, isolation: int = 0) -> Request[FetchedRecords]:
    """Requests records from an offset on, from the leader or any other replica, without waiting.

    Up to `most_bytes` bytes, and at least one batch. It uses no fetch session: the broker keeps nothing. Isolation 0
    includes uncommitted records, 1 ends at the last stable offset.
    """
    return FETCH.ask(11, (most_bytes, isolation, [(tp.topic, [(tp.partition, offset, most_bytes)])]), fetched)


def fetched(error: int, topics: Rows) -> FetchedRecords:
    found = [FetchedRecords(*row) for (partitions,) in topics for row in partitions]
    return FetchedRecords(error, -1, -1, b"") if error or not found else found[0]


PRODUCE = Api(
    0,
    "_transactional_id:str? _acks:i16=-1 timeout_ms:i32 topics:[name:str partitions:[index:i32 records:blob]]",
    "topics:[_name:str partitions:[_index:i32 error:i16 _base:i64 _append_ms:i64 _log_start:i64]] _throttle_ms:i32",
    operations={TOPIC: "Write"},
)


def produce(tp: TopicPartition, batch: bytes, timeout_ms: int) -> Request[PartitionResult]:
    """Appends a batch to a partition of an internal topic; all in-sync replicas acknowledge it."""

    def convert(topics: Rows) -> PartitionResult:
        errors = [error for (partitions,) in topics for (error,) in partitions]
        return PartitionResult(errors[0], "") if len(errors) == 1 else PartitionResult(NO_ANSWER, "an empty response")

    return PRODUCE.ask(7, (timeout_ms, [(tp.topic, [(tp.partition, batch)])]), convert, INTERNAL_CLIENT)


LIST_REASSIGNMENTS = Api(
    46,
    "timeout_ms:i32 _topics:[name:str partitions:i32s]?",
    "_throttle_ms:i32 error:i16 _message:str topics:[name:str partitions:[index:i32 replicas:i32s adding:i32s"
    " removing:i32s]]",
    reads=True,
    flexible=0,
)


def list_reassignments(timeout_ms: int = 3000) -> Request[tuple[int, dict[TopicPartition, Assignment]]]:
    def convert(error: int, topics: Rows) -> tuple[int, dict[TopicPartition, Assignment]]:
        return error, by_partition(topics, Assignment)

    return LIST_REASSIGNMENTS.ask(0, (timeout_ms,), convert)


ALTER_REASSIGNMENTS = Api(
    45,
    "timeout_ms:i32 topics:[name:str partitions:[index:i32 replicas:i32s?]]",
    "_throttle_ms:i32 error:i16 message:str topics:[_name:str partitions:[_index:i32 error:i16 message:str]]",
    flexible=0,
    operations={CLUSTER: "Alter"},
)


def alter_reassignment(
    tp: TopicPartition, replicas: tuple[int, ...] | None, timeout_ms: int
) -> Request[PartitionResult]:
    return ALTER_REASSIGNMENTS.ask(0, (timeout_ms, [(tp.topic, [(tp.partition, replicas)])]), _changed)


ELECT_LEADERS = Api(
    43,
    "unclean:i8 topics:[name:str partitions:i32s] timeout_ms:i32",
    "_throttle_ms:i32 error:i16 topics:[_name:str partitions:[_index:i32 error:i16 message:str]]",
    operations={CLUSTER: "Alter"},
)


def elect_leaders(tp: TopicPartition, *, unclean: bool, timeout_ms: int) -> Request[PartitionResult]:
    values = int(unclean), [(tp.topic, (tp.partition,))], timeout_ms
    return ELECT_LEADERS.ask(1, values, lambda error, topics: _changed(error, "", topics))


def _changed(error: int, message: str, topics: Rows) -> PartitionResult:
    """Returns the result of the one partition, or the error of the whole request."""
    found = [PartitionResult(*row) for (partitions,) in topics for row in partitions]
    return PartitionResult(error, message) if error or not found else found[0]


DESCRIBE_CONFIGS = Api(
    32,
    "resources:[type:i8 name:str keys:strs?] synonyms:bool",
    "_throttle_ms:i32 resources:[error:i16 message:str _type:i8 name:str configs:[key:str value:str? _read_only:bool"
    " source:i8 sensitive:bool synonyms:[_key:str value:str? source:i8]]]",
    reads=True,
    operations={TOPIC: "DescribeConfigs", CLUSTER: "DescribeConfigs"},
)


def describe_configs(
    kind: int, names: tuple[str, ...], keys: tuple[str, ...] | None, *, synonyms: bool = False
) -> Request[list[DescribedConfig]]:
    """Requests these keys, or all with None.

    With `synonyms`, the response contains all sources of a key, including the built-in default of the broker.
    """
    values = [(kind, name, keys) for name in names], synonyms
    return DESCRIBE_CONFIGS.ask(1, values, lambda resources: [_described(*each) for each in resources])


def _described(error: int, message: str, name: str, configs: Rows) -> DescribedConfig:
    values, sources, defaults = {}, {}, {}
    for key, text, source, sensitive, synonyms in configs:
        sources[key] = source
        default = next((value for value, origin in synonyms if origin == _DEFAULT), None)
        if text is not None and not sensitive:
            values[key] = text
        if default is not None and not sensitive:
            defaults[key] = default
    return DescribedConfig(name, error, message, values, sources, defaults)


INCREMENTAL_ALTER_CONFIGS = Api(
    44,
    "resources:[type:i8 name:str configs:[key:str operation:i8 value:str?]] _validate_only:bool",
    "_throttle_ms:i32 resources:[error:i16 message:str _type:i8 _name:str]",
    operations={CLUSTER: "AlterConfigs", TOPIC: "AlterConfigs"},
)


def alter_configs(kind: int, name: str, changes: Mapping[str, str | None]) -> Request[PartitionResult]:
    """Changes each key on its own: SET (0), or DELETE (1) for `None`. Other keys stay as they are (KIP-339)."""

    def convert(resources: Rows) -> PartitionResult:
        return PartitionResult(*resources[0]) if resources else PartitionResult(NO_ANSWER, _NO_RESOURCE)

    configs = [(key, int(value is None), value) for key, value in changes.items()]
    return INCREMENTAL_ALTER_CONFIGS.ask(0, ([(kind, name, configs)],), convert)


DESCRIBE_LOG_DIRS = Api(
    35,
    "topics:[name:str partitions:i32s]?",
    "_throttle_ms:i32 error:i16@3 dirs:[error:i16 path:str topics:[name:str partitions:[index:i32 size:i64 _lag:i64"
    " _future:bool]] total:i64=-1@4 usable:i64=-1@4]",
    reads=True,
    flexible=2,
)


def describe_log_dirs(
    *, with_room: bool, tps: tuple[TopicPartition, ...] | None = None
) -> Request[tuple[int, list[LogDirUsage]]]:
    """Requests all partitions, or these ones. The response is (error, directories); the error is 0 in version 1, which
    has none.

    `with_room` uses version 4 (Kafka 3.3), with total and usable bytes per directory.
    """
    topics = None if tps is None else list(by_topic(tps).items())
    return DESCRIBE_LOG_DIRS.ask(WITH_ROOM if with_room else 1, (topics,), _log_dirs)


def _log_dirs(error: int, dirs: Rows) -> tuple[int, list[LogDirUsage]]:
    return error, [
        LogDirUsage(path, bad, _sizes(topics), usable if usable >= 0 else None, total if total >= 0 else None)
        for bad, path, topics, total, usable in dirs
    ]


def _sizes(topics: Rows) -> dict[TopicPartition, int]:
    """Returns the size of each replica. A future log (AlterReplicaLogDirs in progress) takes space, too: both count."""
    sizes: dict[TopicPartition, int] = {}
    for topic, partitions in topics:
        for index, size in partitions:
            tp = TopicPartition(topic, index)
            sizes[tp] = sizes.get(tp, 0) + size
    return sizes
