"""Groups that DescribeGroups calls Dead: of the consumer protocol (KIP-848), share groups and streams groups.

Each type has a request of its own, and a broker that does not have it does not have such groups either. A group of
another type is answered with GROUP_ID_NOT_FOUND. Source: docs/facts/consumer-groups.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kfix.adapters.deadline import Deadline
from kfix.adapters.kafka import group_answers, requests
from kfix.adapters.kafka.codec import ByteReader, ProtocolError, Writer
from kfix.adapters.kafka.connection import BrokerConnection
from kfix.adapters.kafka.group_answers import GroupDescription
from kfix.adapters.kafka.requests import Request
from kfix.adapters.kafka.responses import CommittedOffset
from kfix.model.cluster.group_reading import CONSUMER_GROUP, DEAD, SHARE_GROUP, STREAMS_GROUP, GroupMember
from kfix.model.cluster.snapshot import TopicPartition

_UUID = 16
#: GROUP_ID_NOT_FOUND.
NOT_FOUND = 69
#: The first version of ListGroups that reports the type of a group (Kafka 3.8).
GROUP_TYPES = 5
#: The first version of ConsumerGroupDescribe with the protocol of each member (4.0): 0 classic, 1 consumer.
_MEMBER_TYPE = 1
#: Share groups of Kafka 4.0, which have version 0, were a preview.
_SHARE = 1


class ListedGroup(NamedTuple):
    """A group as a broker lists it. `type` is "" if the broker does not report it (before 3.8)."""

    name: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class _Kind:
    """How the groups of one type are described: by which request, in the versions between `oldest` and `newest`."""

    type: str
    api_key: int
    oldest: int
    newest: int
    decode: Callable[[ByteReader, int], list[GroupDescription]]


def list_typed_groups() -> Request:
    """Requests the groups of every state and type."""
    w = Writer().compact_array((), Writer.compact_string).compact_array((), Writer.compact_string).no_tags()
    return Request(requests.LIST_GROUPS, GROUP_TYPES, w.done(), flexible=True)


def listed_groups(r: ByteReader) -> tuple[int, list[ListedGroup]]:
    """Returns (error, groups) by ListGroups v5."""
    r.i32()
    error = r.i16()

    def group() -> ListedGroup:
        name, _, _, kind = r.compact_string(), r.compact_string(), r.compact_string(), r.compact_string()
        r.tags()
        return ListedGroup(name, kind.lower())

    return error, r.compact_array(group)


def describe_typed(api_key: int, version: int, groups: Sequence[str]) -> Request:
    """The requests for the three types have the same form."""
    w = Writer().compact_array(tuple(groups), Writer.compact_string).i8(0).no_tags()
    return Request(api_key, version, w.done(), flexible=True)


def consumer_groups(r: ByteReader, version: int) -> list[GroupDescription]:
    """Decodes ConsumerGroupDescribe: what each member has, what it is to have, and its epoch."""

    def member() -> GroupMember:
        name, instance, _, epoch = r.compact_string(), r.compact_string(), r.compact_string(), r.i32()
        client, host = r.compact_string(), r.compact_string()
        r.compact_array(r.compact_string)
        r.compact_string()
        assigned, target = _assignment(r), _assignment(r)
        if version >= _MEMBER_TYPE:
            r.i8()
        r.tags()
        return GroupMember(name, client, host, instance, assigned, target, epoch)

    return _described(r, CONSUMER_GROUP, member)


def share_groups(r: ByteReader, _: int) -> list[GroupDescription]:
    """Decodes ShareGroupDescribe: several members may have the same partition, and no target is reported."""

    def member() -> GroupMember:
        name, _, epoch = r.compact_string(), r.compact_string(), r.i32()
        client, host = r.compact_string(), r.compact_string()
        r.compact_array(r.compact_string)
        assigned = _assignment(r)
        r.tags()
        return GroupMember(name, client, host, "", assigned, None, epoch)

    return _described(r, SHARE_GROUP, member)


def streams_groups(r: ByteReader, _: int) -> list[GroupDescription]:
    """Decodes the state of the first group; its topology and its members are not read."""
    r.i32()
    count = r.uvarint() - 1
    if count < 1:
        return []
    error, _message, name, state, epoch = r.i16(), r.compact_string(), r.compact_string(), r.compact_string(), r.i32()
    return [GroupDescription(error, state, "", None, STREAMS_GROUP, epoch, name)]


def describe_share_offsets(group: str) -> Request:
    """Requests where a share group begins to read, in every partition that it has read."""

    def one(w: Writer, name: str) -> None:
        w.compact_string(name).compact_array(None, Writer.compact_string).no_tags()

    w = Writer().compact_array((group,), one).no_tags()
    return Request(requests.SHARE_OFFSETS, 0, w.done(), flexible=True)


def share_offsets(r: ByteReader) -> tuple[int, dict[TopicPartition, CommittedOffset]]:
    """Returns (error of the group, start offset of each partition)."""
    r.i32()
    found: dict[TopicPartition, CommittedOffset] = {}

    def topic() -> None:
        name = r.compact_string()
        r.take(_UUID)

        def partition() -> None:
            index, start, _ = r.i32(), r.i64(), r.i32()
            found[TopicPartition(name, index)] = CommittedOffset(r.i16(), start)
            r.compact_string()
            r.tags()

        r.compact_array(partition)
        r.tags()

    def group() -> int:
        r.compact_string()
        r.compact_array(topic)
        error = r.i16()
        r.compact_string()
        r.tags()
        return error

    errors = r.compact_array(group)
    if len(errors) != 1:
        raise ProtocolError(f"DescribeShareGroupOffsets returned {len(errors)} groups for one")
    return errors[0], found


def _described(r: ByteReader, kind: str, member: Callable[[], GroupMember]) -> list[GroupDescription]:
    r.i32()

    def group() -> GroupDescription:
        error, _, name, state = r.i16(), r.compact_string(), r.compact_string(), r.compact_string()
        epoch, _ = r.i32(), r.i32()
        r.compact_string()
        members = tuple(r.compact_array(member))
        r.i32()
        r.tags()
        return GroupDescription(error, state, "", members, kind, epoch, name)

    return r.compact_array(group)


def _assignment(r: ByteReader) -> tuple[TopicPartition, ...]:
    def topic() -> list[TopicPartition]:
        r.take(_UUID)
        name = r.compact_string()
        found = [TopicPartition(name, number) for number in r.compact_array(r.i32)]
        r.tags()
        return found

    found = [tp for tps in r.compact_array(topic) for tp in tps]
    r.tags()
    return tuple(found)


_KINDS = (
    _Kind(CONSUMER_GROUP, requests.CONSUMER_GROUP_DESCRIBE, 0, _MEMBER_TYPE, consumer_groups),
    _Kind(SHARE_GROUP, requests.SHARE_GROUP_DESCRIBE, _SHARE, _SHARE, share_groups),
    _Kind(STREAMS_GROUP, requests.STREAMS_GROUP_DESCRIBE, 0, 0, streams_groups),
)


def ask_typed(
    line: BrokerConnection, kind: str, groups: Sequence[str], deadline: Deadline
) -> list[GroupDescription] | None:
    """Returns the groups of one type, or None if the broker does not have its request.

    Of streams groups only the first is described. A group that is not of the type has the error GROUP_ID_NOT_FOUND.
    """
    [how] = (each for each in _KINDS if each.type == kind)
    version = line.newest(how.api_key, how.newest, deadline, at_least=how.oldest)
    if version is None:
        return None
    return line.call(describe_typed(how.api_key, version, groups), lambda r: how.decode(r, version), deadline)


def ask_group_description(line: BrokerConnection, group: str, deadline: Deadline) -> GroupDescription:
    """Returns state and members of a group of whatever type, from its coordinator.

    DescribeGroups calls a group Dead that is not of the classic protocol, so the other requests decide.
    """
    found = line.call(requests.describe_members(group), group_answers.describe_members, deadline)
    if found.error or found.state != DEAD:
        return found
    for kind in _KINDS:
        described = ask_typed(line, kind.type, (group,), deadline)
        if described and described[0].error != NOT_FOUND:
            return described[0]
    return found
