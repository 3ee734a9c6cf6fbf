"""Decoders of the responses about one group in depth: its members, its committed offsets, a removed member."""

from __future__ import annotations

from dataclasses import dataclass

from kfix.adapters.kafka.codec import ByteReader, ProtocolError
from kfix.adapters.kafka.responses import CommittedOffset, PartitionResult
from kfix.model.cluster.group_reading import GroupMember
from kfix.model.cluster.snapshot import TopicPartition

#: The protocol type of consumers; others, such as Kafka Connect, put other content into an assignment.
CONSUMERS = "consumer"


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """`kind` is the protocol type of a classic group; `members` is None where they were not read.

    `group_type` is "" if DescribeGroups answered, `epoch` that of the group, which classic groups do not have.
    """

    error: int
    state: str
    kind: str
    members: tuple[GroupMember, ...] | None
    group_type: str = ""
    epoch: int | None = None
    name: str = ""


def describe_members(r: ByteReader) -> GroupDescription:
    """Returns the one group that was requested."""
    r.i32()
    found: list[GroupDescription] = []

    def group() -> None:
        error, _, state, kind, _ = r.i16(), r.string(), r.string(), r.string(), r.string()

        def member() -> GroupMember:
            name, instance = r.string(), r.nullable_string()
            client, host, _, assigned = r.string(), r.string(), r.blob(), r.blob()
            return GroupMember(name, client, host, instance or "", _assigned(assigned) if kind == CONSUMERS else ())

        found.append(GroupDescription(error, state, kind, tuple(r.array(member))))
        r.i32()

    r.array(group)
    if not found:
        raise ProtocolError("DescribeGroups returned no group")
    return found[0]


def _assigned(raw: bytes) -> tuple[TopicPartition, ...]:
    """Returns the partitions of a consumer; none for an assignment of another form."""
    if not raw:
        return ()
    r = ByteReader(raw)
    try:
        r.i16()
        return tuple(
            TopicPartition(topic, n) for topic, ids in r.array(lambda: (r.string(), r.array(r.i32))) for n in ids
        )
    except ProtocolError:
        return ()


def committed_offsets(r: ByteReader) -> tuple[int, dict[TopicPartition, CommittedOffset]]:
    """Returns (error of the group, every partition with a committed offset), by OffsetFetch v5."""
    r.i32()
    found: dict[TopicPartition, CommittedOffset] = {}

    def topic() -> None:
        name = r.string()

        def partition() -> None:
            index, offset = r.i32(), r.i64()
            r.i32()
            r.nullable_string()
            found[TopicPartition(name, index)] = CommittedOffset(r.i16(), offset)

        r.array(partition)

    r.array(topic)
    return r.i16(), found


def leave_group(r: ByteReader) -> PartitionResult:
    """Returns the error of the request, or else that of the one member that was to be removed."""
    r.i32()
    error = r.i16()
    members = r.array(lambda: (r.string(), r.nullable_string(), r.i16()))
    if error:
        return PartitionResult(error, "")
    if len(members) != 1:
        raise ProtocolError(f"LeaveGroup returned {len(members)} members for one")
    [(member, instance, refused)] = members
    return PartitionResult(refused, f"member {instance or member}" if refused else "")
