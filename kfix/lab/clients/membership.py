"""Members of consumer groups that join and then do nothing, as a hung process does, over plain requests."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kfix.adapters.kafka import group_answers, requests
from kfix.adapters.kafka.codec import ByteReader, Writer
from kfix.adapters.kafka.requests import Request
from kfix.errors import LabError, UnreachableError
from kfix.lab.clients.asking import JOIN_GROUP, SYNC_GROUP, ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kfix.adapters.kafka.group_answers import GroupDescription
    from kfix.model.cluster.snapshot import TopicPartition

#: The largest session timeout that a broker accepts by default: such a member needs no heartbeat.
_PATIENCE_MS = 1_800_000
#: The smallest one that it accepts by default: a member that has joined and sends nothing more is gone soon.
_BRIEF_MS = 6_000
_SECONDS, _UNANSWERED_SECONDS = 10.0, 1.0
_VERSION = 0  # of the content of a subscription and of an assignment


def settle_alone(address: str, group: str, assigned: Sequence[TopicPartition], instance: str = "") -> str:
    """Returns the id of a member that has joined an empty group and has these partitions of one topic.

    With `instance`, its group.instance.id, it is a static member.

    Raises LabError if the coordinator refuses it, UnreachableError if it does not answer.
    """
    request = _join(group, assigned[0].topic, _PATIENCE_MS, instance)
    error, generation, member = ask(address, request, _joined, _SECONDS)
    if error:
        raise LabError(f"group {group}: JoinGroup returned error {error}")
    topic = assigned[0].topic
    content = Writer().i16(_VERSION).i32(1).string(topic).array([tp.partition for tp in assigned], Writer.i32)
    plan = Writer().string(group).i32(generation).string(member)
    if instance:
        plan.string(instance)
    plan.i32(1).string(member).blob(content.blob(b"").done())
    if error := ask(address, Request(SYNC_GROUP, 3 if instance else 1, plan.done()), _synced, _SECONDS):
        raise LabError(f"group {group}: SyncGroup returned error {error}")
    return member


def begin_join(address: str, group: str, topic: str) -> None:
    """Joins a group that has members, and does not wait for the answer, which comes when they have joined again.

    Then this member does nothing, and leaves the group at the end of its session of 6 s.
    """
    with contextlib.suppress(UnreachableError):
        ask(address, _join(group, topic, _BRIEF_MS), _joined, _UNANSWERED_SECONDS)


def describe(address: str, group: str) -> GroupDescription:
    return ask(address, requests.describe_members(group), group_answers.describe_members, _SECONDS)


def _join(group: str, topic: str, session_ms: int, instance: str = "") -> Request:
    """Version 2, in which a member needs no second request to get its id; version 5 for a static member."""
    subscription = Writer().i16(_VERSION).array((topic,), Writer.string).blob(b"").done()
    w = Writer().string(group).i32(session_ms).i32(_PATIENCE_MS).string("")
    if instance:
        w.string(instance)
    w.string("consumer").i32(1).string("range").blob(subscription)
    return Request(JOIN_GROUP, 5 if instance else 2, w.done())


def _joined(r: ByteReader) -> tuple[int, int, str]:
    """Returns (error, generation, member id), which versions 2 and 5 have at the same place."""
    r.i32()
    error, generation = r.i16(), r.i32()
    r.string()
    r.string()
    return error, generation, r.string()


def _synced(r: ByteReader) -> int:
    r.i32()
    return r.i16()
