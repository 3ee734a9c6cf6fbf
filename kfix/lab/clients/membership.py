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
_SECONDS, _UNANSWERED_SECONDS = 10.0, 1.0
_VERSION = 0  # of the content of a subscription and of an assignment


def settle_alone(address: str, group: str, assigned: Sequence[TopicPartition]) -> str:
    """Returns the id of a member that has joined an empty group and has these partitions of one topic.

    Raises LabError if the coordinator refuses it, UnreachableError if it does not answer.
    """
    error, generation, member = ask(address, _join(group, assigned[0].topic), _joined, _SECONDS)
    if error:
        raise LabError(f"group {group}: JoinGroup returned error {error}")
    topic = assigned[0].topic
    content = Writer().i16(_VERSION).i32(1).string(topic).array([tp.partition for tp in assigned], Writer.i32)
    plan = Writer().string(group).i32(generation).string(member)
    plan.i32(1).string(member).blob(content.blob(b"").done())
    if error := ask(address, Request(SYNC_GROUP, 1, plan.done()), _synced, _SECONDS):
        raise LabError(f"group {group}: SyncGroup returned error {error}")
    return member


def begin_join(address: str, group: str, topic: str) -> None:
    """Joins a group that has members, and does not wait for the answer, which comes when they have joined again."""
    with contextlib.suppress(UnreachableError):
        ask(address, _join(group, topic), _joined, _UNANSWERED_SECONDS)


def describe(address: str, group: str) -> GroupDescription:
    return ask(address, requests.describe_members(group), group_answers.describe_members, _SECONDS)


def _join(group: str, topic: str) -> Request:
    """Version 2, in which a member needs no second request to get its id."""
    subscription = Writer().i16(_VERSION).array((topic,), Writer.string).blob(b"").done()
    w = Writer().string(group).i32(_PATIENCE_MS).i32(_PATIENCE_MS).string("").string("consumer")
    return Request(JOIN_GROUP, 2, w.i32(1).string("range").blob(subscription).done())


def _joined(r: ByteReader) -> tuple[int, int, str]:
    """Returns (error, generation, member id)."""
    r.i32()
    error, generation = r.i16(), r.i32()
    r.string()
    r.string()
    return error, generation, r.string()


def _synced(r: ByteReader) -> int:
    r.i32()
    return r.i16()
