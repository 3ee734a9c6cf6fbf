"""One member of a group of the canary: it joins, commits, reads the commit back, leaves, and the group is deleted."""

import contextlib
import time
from collections.abc import Iterable
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from kfix.canary.librdkafka import Settings, client
from kfix.canary.model import CoordinatorTry
from kfix.core.snapshot.snapshot import TopicPartition

#: Short, since a member that is killed keeps the group until its session ends; within every broker's limits.
_SESSION: Final = {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 3_000, "group.protocol": "classic"}
_NO_COMMITS: Final = {"enable.auto.commit": False, "enable.auto.offset.store": False}
_PAUSE: Final = 0.02
#: A limit of one request, in seconds.
_LONGEST_REQUEST: Final = 5.0
#: A coordinator needs a moment to see that the last member has left.
_DELETE_AGAIN: Final = 0.2


_GONE: Final = (0, KafkaError.GROUP_ID_NOT_FOUND)


class _FailedError(Exception):
    """The member did not get on; the text is the reason."""


def try_coordinator(
    settings: Settings, group: str, at: tuple[TopicPartition, int], topic: str, offset: int, within: float
) -> CoordinatorTry:
    """`at` are the partition of __consumer_offsets and the broker that leads it; `offset` is what is committed."""
    where, broker = at
    began, joined = time.monotonic(), 0.0
    consumer = client(Consumer, settings | _SESSION | _NO_COMMITS | {"group.id": group})
    try:
        mine = _join(consumer, topic, within)
        joined = time.monotonic() - began
        began = time.monotonic()
        _commit(consumer, ClientPartition(topic, mine.partition, offset), within)
    except _FailedError as failed:
        return CoordinatorTry(where, broker, group, joined, error=str(failed))
    except KafkaException as failed:
        return CoordinatorTry(where, broker, group, joined, error=str(failed.args[0].str()))
    finally:
        with contextlib.suppress(KafkaException):
            consumer.close()
    return CoordinatorTry(where, broker, group, joined, time.monotonic() - began)


def _join(consumer: Any, topic: str, within: float) -> Any:
    """Returns a partition that the group has assigned to its only member."""
    assigned: list[Any] = []
    consumer.subscribe([topic], on_assign=lambda _consumer, partitions: assigned.extend(partitions))
    ends = time.monotonic() + within
    while not assigned:
        if time.monotonic() >= ends:
            raise _FailedError(f"joining did not end in {within:g} s")
        message = consumer.poll(_PAUSE)
        if message is not None and message.error() is not None:
            raise _FailedError(f"joining failed: {message.error().str()}")
    return assigned[0]


def _commit(consumer: Any, offset: Any, within: float) -> None:
    # Nothing is consumed by this member.
    consumer.pause(consumer.assignment())
    consumer.commit(offsets=[offset], asynchronous=False)
    [found] = consumer.committed([ClientPartition(offset.topic, offset.partition)], timeout=within)
    if found.offset != offset.offset:
        raise _FailedError(f"committed offset {offset.offset}, and read back {found.offset}")


def delete_groups(settings: Settings, groups: Iterable[str], within: float) -> dict[str, str]:
    """Deletes the groups and their offsets. Returns {group that is left: why}."""
    left = dict.fromkeys(groups, "")
    ends = time.monotonic() + within
    while left:
        # A new client each time: one that has known a broker that stopped may wait for it after the leader has changed.
        admin = client(AdminClient, settings)
        limit = max(min(ends - time.monotonic(), _LONGEST_REQUEST), 1.0)
        codes = set()
        for group, answer in admin.delete_consumer_groups(list(left), request_timeout=limit).items():
            code, left[group] = _result(answer)
            codes.add(code)
            if code in _GONE:
                del left[group]
        if KafkaError.GROUP_AUTHORIZATION_FAILED in codes or time.monotonic() >= ends:
            break
        if left:
            time.sleep(_DELETE_AGAIN)
    return left


def _result(answer: Any) -> tuple[int, str]:
    """Returns the error of a deletion, 0 without one, and its text."""
    try:
        answer.result()
    except KafkaException as failed:
        return failed.args[0].code(), str(failed.args[0].str())
    return 0, ""
