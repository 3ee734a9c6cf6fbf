"""Groups that DescribeGroups calls Dead: of the consumer protocol (KIP-848), share groups and streams groups.

Each type has its own request, and a broker without it does not have such groups either. A group of another type gets
GROUP_ID_NOT_FOUND. Source: docs/facts/consumer-groups.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kfix.core.kafka.api import Api, Request
from kfix.core.kafka.codec import ByteReader, ProtocolError, Row, Rows, decoder
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_messages import Committed, CommittedOffset, GroupDescription, describe_members
from kfix.core.kafka.requests import by_partition
from kfix.core.snapshot.group_reading import CONSUMER_GROUP, DEAD, SHARE_GROUP, STREAMS_GROUP, GroupMember
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline

#: GROUP_ID_NOT_FOUND.
NOT_FOUND = 69
#: The first version of ConsumerGroupDescribe with the protocol of each member (4.0).
_MEMBER_TYPE = 1
#: Share groups of Kafka 4.0, which have version 0, were a preview.
_SHARE = 1

#: The requests for the three types have the same form.
_GROUPS = "groups:strs _operations:bool"
CONSUMER_GROUP_DESCRIBE = Api(
    69,
    _GROUPS,
    "_throttle_ms:i32 groups:[error:i16 _message:str name:str state:str epoch:i32 _assignment_epoch:i32 _assignor:str"
    " members:[id:str instance:str _rack:str epoch:i32 client:str host:str _topics:strs _topic_regex:str"
    " assigned:{topics:[_id:uuid name:str partitions:i32s]} target:{topics:[_id:uuid name:str partitions:i32s]}"
    " _type:i8@1] _operations:i32]",
    reads=True,
    flexible=0,
)
SHARE_GROUP_DESCRIBE = Api(
    77,
    _GROUPS,
    "_throttle_ms:i32 groups:[error:i16 _message:str name:str state:str epoch:i32 _assignment_epoch:i32 _assignor:str"
    " members:[id:str _rack:str epoch:i32 client:str host:str _topics:strs"
    " assigned:{topics:[_id:uuid name:str partitions:i32s]}] _operations:i32]",
    reads=True,
    flexible=0,
)
#: Only the first group of the response, up to its epoch: its topology and its members are not read.
STREAMS_GROUP_DESCRIBE = Api(89, _GROUPS, "error:i16 _message:str name:str state:str epoch:i32", reads=True, flexible=0)
SHARE_OFFSETS = Api(
    90,
    "groups:[name:str _topics:strs?]",
    "_throttle_ms:i32 groups:[_name:str topics:[name:str _id:uuid partitions:[index:i32 start:i64 _epoch:i32 error:i16"
    " _message:str]] error:i16 _message:str]",
    reads=True,
    flexible=0,
)


@dataclass(frozen=True, slots=True)
class _Kind:
    """The request that describes the groups of one type, in the versions between `oldest` and `newest`."""

    type: str
    api: Api
    oldest: int
    newest: int
    describe: Callable[[Sequence[str], int], Request[list[GroupDescription]]]


def describe_consumer_groups(groups: Sequence[str], version: int) -> Request[list[GroupDescription]]:
    """Requests the groups, with the present and the target assignment of each member."""

    def member(name: str, instance: str, epoch: int, client: str, host: str, assigned: Row, target: Row) -> GroupMember:
        return GroupMember(name, client, host, instance, _tps(*assigned), _tps(*target), epoch)

    return CONSUMER_GROUP_DESCRIBE.ask(
        version, (groups,), lambda found: [_described(CONSUMER_GROUP, member, *each) for each in found]
    )


def describe_share_groups(groups: Sequence[str], version: int) -> Request[list[GroupDescription]]:
    """Requests the groups: several members may have the same partition, and no target is reported."""

    def member(name: str, epoch: int, client: str, host: str, assigned: Row) -> GroupMember:
        return GroupMember(name, client, host, "", _tps(*assigned), None, epoch)

    return SHARE_GROUP_DESCRIBE.ask(
        version, (groups,), lambda found: [_described(SHARE_GROUP, member, *each) for each in found]
    )


def _described(
    kind: str, member: Callable[..., GroupMember], error: int, name: str, state: str, epoch: int, members: Rows
) -> GroupDescription:
    return GroupDescription(error, state, "", tuple(member(*each) for each in members), kind, epoch, name)


def _tps(topics: Rows) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(name, index) for name, indexes in topics for index in indexes)


def describe_streams_groups(groups: Sequence[str], version: int) -> Request[list[GroupDescription]]:
    """Requests the groups, and reads the state of the first one."""

    def decode(r: ByteReader) -> list[GroupDescription]:
        r.i32()
        if r.compact() < 1:
            return []
        error, name, state, epoch = decoder(STREAMS_GROUP_DESCRIBE.response, version, flexible=True).read(r)
        return [GroupDescription(error, state, "", None, STREAMS_GROUP, epoch, name)]

    return STREAMS_GROUP_DESCRIBE.ask_raw(version, (groups,), decode)


def describe_share_offsets(group: str) -> Request[Committed]:
    """Requests the start offset of a share group in every partition that it has read."""

    def convert(groups: Rows) -> Committed:
        if len(groups) != 1:
            raise ProtocolError(f"DescribeShareGroupOffsets returned {len(groups)} groups for one")
        [(topics, error)] = groups
        return error, by_partition(topics, lambda start, bad: CommittedOffset(bad, start))

    return SHARE_OFFSETS.ask(0, ([(group,)],), convert)


_KINDS = (
    _Kind(CONSUMER_GROUP, CONSUMER_GROUP_DESCRIBE, 0, _MEMBER_TYPE, describe_consumer_groups),
    _Kind(SHARE_GROUP, SHARE_GROUP_DESCRIBE, _SHARE, _SHARE, describe_share_groups),
    _Kind(STREAMS_GROUP, STREAMS_GROUP_DESCRIBE, 0, 0, describe_streams_groups),
)


def ask_typed(
    line: BrokerConnection, kind: str, groups: Sequence[str], deadline: Deadline
) -> list[GroupDescription] | None:
    """Returns the groups of one type, or None if the broker does not have its request.

    Of streams groups it describes only the first. A group of another type has the error GROUP_ID_NOT_FOUND.
    """
    [how] = (each for each in _KINDS if each.type == kind)
    version = line.newest(how.api, how.newest, deadline, at_least=how.oldest)
    return None if version is None else line.call(how.describe(groups, version), deadline)


def ask_group_description(line: BrokerConnection, group: str, deadline: Deadline) -> GroupDescription:
    """Returns state and members of a group of any type, from its coordinator.

    DescribeGroups calls a group Dead that does not use the classic protocol, so the other requests decide.
    """
    found = line.call(describe_members(group), deadline)
    if found.error or found.state != DEAD:
        return found
    for kind in _KINDS:
        described = ask_typed(line, kind.type, (group,), deadline)
        if described and described[0].error != NOT_FOUND:
            return described[0]
    return found
