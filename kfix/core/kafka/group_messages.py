"""The requests about consumer groups and transactions that every broker from 2.4 to 4.3 has, as in `requests`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kfix.core.kafka.api import Api, Request
from kfix.core.kafka.codec import ByteReader, ProtocolError, Row, Rows, decoder
from kfix.core.kafka.codes import GROUP, NO_ANSWER, TOPIC, TRANSACTIONAL_ID, name_of
from kfix.core.kafka.requests import PartitionResult, by_partition, by_topic
from kfix.core.snapshot.group_reading import GroupMember
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.snapshot import Endpoint, TopicPartition

#: The first version of OffsetFetch that can require stable offsets (Kafka 2.5); it only has the flexible encoding.
STABLE_OFFSETS = 7
#: The first version of ListGroups that reports the type of a group (Kafka 3.8).
GROUP_TYPES = 5
#: The first version of InitProducerId that names the expected producer id and epoch.
EXPECTED_PRODUCER = 3
#: The protocol type of consumers; others, such as Kafka Connect, put other content into an assignment.
CONSUMERS = "consumer"
_CONCURRENT_TRANSACTIONS = 51
#: `ConsumerProtocolAssignment`; fields of newer versions follow.
_ASSIGNMENT = "_version:i16 topics:[name:str partitions:i32s]"


@dataclass(frozen=True, slots=True)
class FoundCoordinator:
    error: int
    broker: int
    endpoint: Endpoint


class ListedGroup(NamedTuple):
    """A group as a broker lists it. `type` is "" if the broker does not report it (before 3.8)."""

    name: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """`kind` is the protocol type of a classic group; `members` is None if they were not read.

    `group_type` is "" if DescribeGroups answered, `epoch` the group's, which classic groups do not have.
    """

    error: int
    state: str
    kind: str
    members: tuple[GroupMember, ...] | None
    group_type: str = ""
    epoch: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """`offset` is -1 if none is committed."""

    error: int
    offset: int
    leader_epoch: int = -1
    metadata: str = ""


Tps = tuple[TopicPartition, ...]
#: (error of the group, committed offset or error of each partition).
Committed = tuple[int, dict[TopicPartition, CommittedOffset]]

FIND_COORDINATOR = Api(
    10, "key:str type:i8", "_throttle_ms:i32 error:i16 _message:str node:i32 host:str port:i32", reads=True
)


def find_coordinator(group: str) -> Request[FoundCoordinator]:
    """Creates a missing `__consumer_offsets` (KafkaApis.scala:1395), so send it only if the topic exists."""
    return FIND_COORDINATOR.ask(1, (group, 0), _found)


def find_transaction_coordinator(transactional_id: str) -> Request[FoundCoordinator]:
    """Creates a missing `__transaction_state`, so send it only if the topic exists."""
    return FIND_COORDINATOR.ask(1, (transactional_id, 1), _found)


def _found(error: int, node: int, host: str, port: int) -> FoundCoordinator:
    return FoundCoordinator(error, node, Endpoint(host, port))


OFFSET_FETCH = Api(
    9,
    "group:str topics:[name:str partitions:i32s]? stable:bool@7",
    "_throttle_ms:i32 topics:[name:str partitions:[index:i32 offset:i64 epoch:i32 metadata:str error:i16]] error:i16",
    reads=True,
    flexible=6,
)


def offset_fetch(group: str) -> Request[Committed]:
    """Requests the offset of every partition for which one is committed."""

    def convert(topics: Rows, error: int) -> Committed:
        return error, by_partition(topics, lambda offset, _epoch, _metadata, bad: CommittedOffset(bad, offset))

    return OFFSET_FETCH.ask(5, (group, None, False), convert)


def stable_offset_fetch(group: str, tps: tuple[TopicPartition, ...]) -> Request[Committed]:
    """Requests the committed offsets of named partitions, and error 88 for those that an open transaction holds.

    A request without names leaves such a partition out if it has no earlier offset (docs/facts/consumer-groups.md).
    """

    def convert(topics: Rows, error: int) -> Committed:
        return error, by_partition(topics, lambda *stored: CommittedOffset(stored[-1], *stored[:-1]))

    return OFFSET_FETCH.ask(STABLE_OFFSETS, (group, list(by_topic(tps).items()), True), convert)


LIST_GROUPS = Api(
    16,
    "_states:strs@4 _types:strs@5",
    "_throttle_ms:i32 error:i16 groups:[name:str _protocol_type:str _state:str@4 type:str@5]",
    reads=True,
    flexible=3,
)


def list_groups(*, typed: bool = False) -> Request[tuple[int, list[ListedGroup]]]:
    """Requests the groups of every state and type; with `typed`, which needs Kafka 3.8, also the type of each."""

    def convert(error: int, groups: Rows) -> tuple[int, list[ListedGroup]]:
        return error, [ListedGroup(name, kind.lower()) for name, kind in groups]

    return LIST_GROUPS.ask(GROUP_TYPES if typed else 2, (), convert)


DESCRIBE_GROUPS = Api(
    15,
    "groups:strs _operations:bool@3",
    "_throttle_ms:i32 groups:[error:i16 name:str state:str protocol_type:str _protocol:str"
    " members:[id:str instance:str@4 client:str host:str _subscription:blob assigned:blob] _operations:i32@3]",
    reads=True,
)


def describe_groups(groups: tuple[str, ...]) -> Request[list[GroupDescription]]:
    """Requests groups; the assignments of their members are not read."""
    return DESCRIBE_GROUPS.ask(2, (groups,), lambda found: [_group(each) for each in found])


def describe_members(group: str) -> Request[GroupDescription]:
    """Requests one group with the assignments of its members, and their group.instance.id (version 4 on)."""

    def convert(found: Rows) -> GroupDescription:
        if not found:
            raise ProtocolError("DescribeGroups returned no group")
        return _group(found[0], _assigned)

    return DESCRIBE_GROUPS.ask(4, ((group,),), convert)


def _group(row: Row, assigned: Callable[[bytes], Tps] = lambda _: ()) -> GroupDescription:
    error, name, state, kind, members = row
    described = tuple(
        GroupMember(member, client, host, instance, assigned(raw) if kind == CONSUMERS else ())
        for member, instance, client, host, raw in members
    )
    return GroupDescription(error, state, kind, described, name=name)


def _assigned(raw: bytes) -> Tps:
    """Returns the partitions of a consumer; none for an assignment of another form."""
    try:
        [topics] = decoder(_ASSIGNMENT).read(ByteReader(raw))
    except ProtocolError:
        return ()
    return tuple(TopicPartition(topic, index) for topic, indexes in topics for index in indexes)


OFFSET_COMMIT = Api(
    8,
    "group:str _generation:i32=-1 _member:str _instance:str?"
    " topics:[name:str partitions:[index:i32 offset:i64 epoch:i32 metadata:str]]",
    "_throttle_ms:i32 topics:[name:str partitions:[index:i32 error:i16]]",
    operations={TOPIC: "Read", GROUP: "Read"},
)


def offset_commit(group: str, offsets: Mapping[TopicPartition, StoredOffset]) -> Request[PartitionResult]:
    """Commits as a consumer outside the group (generation -1, no member); refused while the group has members."""

    def row(tp: TopicPartition) -> tuple[int, int, int, str]:
        stored = offsets[tp]
        return tp.partition, stored.offset, stored.leader_epoch, stored.metadata

    topics = [(topic, [row(TopicPartition(topic, n)) for n in indexes]) for topic, indexes in by_topic(offsets).items()]
    return OFFSET_COMMIT.ask(7, (group, topics), _all_or_none)


OFFSET_DELETE = Api(
    47,
    "group:str topics:[name:str partitions:[index:i32]]",
    "error:i16 _throttle_ms:i32 topics:[name:str partitions:[index:i32 error:i16]]",
    operations={TOPIC: "Read", GROUP: "Delete"},
)


def offset_delete(group: str, tps: tuple[TopicPartition, ...]) -> Request[PartitionResult]:
    """Deletes committed offsets (KIP-496, Kafka 2.4)."""

    def convert(error: int, topics: Rows) -> PartitionResult:
        return PartitionResult(error, "") if error else _all_or_none(topics)

    topics = [(topic, [(index,) for index in indexes]) for topic, indexes in by_topic(tps).items()]
    return OFFSET_DELETE.ask(0, (group, topics), convert)


def _all_or_none(topics: Rows) -> PartitionResult:
    """Returns the error of all partitions; -1 (unknown) if only some of them were changed."""
    results = [(f"{topic}-{index}", error) for topic, partitions in topics for index, error in partitions]
    failed = [(tp, error) for tp, error in results if error]
    if not failed:
        return PartitionResult(0, "")
    tp, error = failed[0]
    if len(failed) < len(results):
        return PartitionResult(NO_ANSWER, f"{tp}: {name_of(error)}; accepted: {len(results) - len(failed)}")
    return PartitionResult(error, tp)


LEAVE_GROUP = Api(
    13,
    "group:str members:[id:str instance:str?]",
    "_throttle_ms:i32 error:i16 members:[id:str instance:str error:i16]",
    operations={GROUP: "Read"},
)


def leave_group(group: str, member: str, instance: str) -> Request[PartitionResult]:
    """Removes one member from its group (KIP-345, Kafka 2.4). `instance` is "" for a dynamic member.

    The coordinator removes a static member by its group.instance.id, and refuses with FENCED_INSTANCE_ID if another
    member id has that instance by now.
    """

    def convert(error: int, members: Rows) -> PartitionResult:
        if error:
            return PartitionResult(error, "")
        if len(members) != 1:
            raise ProtocolError(f"LeaveGroup returned {len(members)} members for one")
        [(name, of, refused)] = members
        return PartitionResult(refused, f"member {of or name}" if refused else "")

    return LEAVE_GROUP.ask(3, (group, [(member, instance or None)]), convert)


INIT_PRODUCER_ID = Api(
    22,
    "transactional_id:str timeout_ms:i32 producer:i64@3 epoch:i16@3",
    "_throttle_ms:i32 error:i16 _producer:i64 _epoch:i16",
    flexible=2,
    operations={TRANSACTIONAL_ID: "Write"},
)


def init_producer_id(transactional_id: str, producer: int, epoch: int, timeout_ms: int) -> Request[PartitionResult]:
    """Takes over a transactional.id, which aborts its open transaction (version 3, Kafka 2.5; only flexible).

    The coordinator refuses it (47) unless the transactional.id still has this producer id. It compares the epoch only
    if no transaction is open: otherwise another epoch aborts it as well (docs/facts/consumer-groups.md). It answers
    CONCURRENT_TRANSACTIONS when it has begun to abort, which is no error here.

    Source: `TransactionCoordinator.handleInitProducerId` of Kafka 2.7.1; seen on real brokers.
    """

    def convert(error: int) -> PartitionResult:
        if error == _CONCURRENT_TRANSACTIONS:
            return PartitionResult(0, "the coordinator is ending the transaction")
        return PartitionResult(error, "")

    return INIT_PRODUCER_ID.ask(EXPECTED_PRODUCER, (transactional_id, timeout_ms, producer, epoch), convert)
