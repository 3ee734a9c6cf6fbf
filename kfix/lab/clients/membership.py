"""Members of consumer groups that join and then do nothing, as a hung process does, over plain requests."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kfix.core.errors import LabError, UnreachableError
from kfix.core.kafka import group_messages
from kfix.core.kafka.api import Request
from kfix.core.kafka.codec import encoder
from kfix.core.kafka.group_messages import CONSUMERS
from kfix.lab.clients.asking import JOIN_GROUP, SYNC_GROUP, ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kfix.core.kafka.group_messages import GroupDescription
    from kfix.core.snapshot.snapshot import TopicPartition

#: The largest session timeout that a broker accepts by default: such a member needs no heartbeat.
_PATIENCE_MS = 1_800_000
#: The smallest one that it accepts by default: a member that has joined and sends nothing more is gone soon.
_BRIEF_MS = 6_000
_SECONDS, _UNANSWERED_SECONDS = 10.0, 1.0
#: The content of a subscription and of an assignment, in version 0.
_SUBSCRIPTION = "_version:i16 topics:strs _user_data:blob"
_ASSIGNMENT = "_version:i16 topics:[name:str partitions:i32s] _user_data:blob"


def settle_alone(address: str, group: str, assigned: Sequence[TopicPartition], instance: str = "") -> str:
    """Returns the id of a member that has joined an empty group and has these partitions of one topic.

    With `instance`, its group.instance.id, it is a static member.

    Raises LabError if the coordinator refuses it, UnreachableError if it does not answer.
    """
    topic = assigned[0].topic
    error, generation, member = ask(address, _join(group, topic, _PATIENCE_MS, instance), _SECONDS)
    if error:
        raise LabError(f"group {group}: JoinGroup returned error {error}")
    content = encoder(_ASSIGNMENT).write(([(topic, [tp.partition for tp in assigned])],))
    values = group, generation, member, instance, [(member, content)]
    if error := ask(address, SYNC_GROUP.ask(3 if instance else 1, values, int), _SECONDS):
        raise LabError(f"group {group}: SyncGroup returned error {error}")
    return member


def begin_join(address: str, group: str, topic: str) -> None:
    """Joins a group that has members, and does not wait for the answer, which comes when they have joined again.

    Then this member does nothing, and leaves the group at the end of its session of 6 s.
    """
    with contextlib.suppress(UnreachableError):
        ask(address, _join(group, topic, _BRIEF_MS), _UNANSWERED_SECONDS)


def describe(address: str, group: str) -> GroupDescription:
    return ask(address, group_messages.describe_members(group), _SECONDS)


def _join(group: str, topic: str, session_ms: int, instance: str = "") -> Request[tuple[int, int, str]]:
    """Version 2, in which a member needs no second request to get its id; version 5 for a static member.

    The response is (error, generation, member id).
    """
    subscription = encoder(_SUBSCRIPTION).write(((topic,),))
    values = group, session_ms, _PATIENCE_MS, instance, CONSUMERS, [("range", subscription)]
    return JOIN_GROUP.ask(5 if instance else 2, values, lambda *found: found)
