"""The members of one group as its coordinator lists them, and the members of its last generation from the log."""

from __future__ import annotations

from kfix.core.collect.offsets_log import ask_parts, read_records
from kfix.core.errors import UnreachableError
from kfix.core.kafka.codes import TOPIC, name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.new_groups import ask_group_description
from kfix.core.snapshot.group_reading import GroupMembers, LastGeneration, described_by
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline


def ask_members(line: BrokerConnection, group: str, deadline: Deadline) -> GroupMembers:
    """Returns state and members of a group, from its coordinator. Raises UnreachableError if the broker refuses."""
    found = ask_group_description(line, group, deadline)
    request = described_by(found.group_type)
    if found.error:
        raise UnreachableError(f"{line.endpoint}: group {group}: {request}: {name_of(found.error)}")
    if found.members is None:
        raise UnreachableError(f"{line.endpoint}: group {group}: {request}: kfix does not read these members")
    return GroupMembers(group, found.state, found.members, found.epoch)


def read_last_generation(line: BrokerConnection, group: str, tp: TopicPartition, deadline: Deadline) -> LastGeneration:
    """Reads the end of the log of the group's offsets partition; unknown unless it was read to its end."""
    parts, *_ = ask_parts(line, (tp,), (), (tp.partition,), deadline)
    for part in parts:
        found, end, error = read_records(line, part, deadline)
        if name_of(TOPIC) in error:
            raise UnreachableError(f"{line.endpoint}: {tp}: {error}")
        recorded = found.groups.get(group)
        if recorded is not None and recorded.member_ids and end >= part.log_end and not error:
            # A truncated list would exclude members of the generation.
            every = len(recorded.member_ids) == recorded.members
            return LastGeneration(recorded.generation, frozenset(recorded.member_ids if every else ()))
    return LastGeneration()
