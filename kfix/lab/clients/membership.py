"""Members of consumer groups that join and then do nothing, as a hung process does, over plain requests."""

import contextlib
import uuid
from collections.abc import Mapping, Sequence

from kfix.core.errors import LabError, UnreachableError
from kfix.core.kafka import group_messages, requests
from kfix.core.kafka.api import Request
from kfix.core.kafka.codec import encoder
from kfix.core.kafka.group_messages import CONSUMERS, GROUP_TYPES, GroupDescription
from kfix.core.kafka.new_groups import ask_group_description
from kfix.core.snapshot.group_reading import CONSUMER_GROUP
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline
from kfix.lab.clients.asking import CONSUMER_GROUP_HEARTBEAT, JOIN_GROUP, SYNC_GROUP, ask, connected_to

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


# Members of groups of the consumer protocol (KIP-848) that join and then do nothing, over plain requests.

#: The resource type of the settings of a group (KIP-848).
_GROUP_RESOURCE = 32
#: Half an hour, as long as a member of the classic protocol keeps its place in the same incident.
PATIENCE_MS = 1_800_000
_RECONCILE_SECONDS = 10.0
_JOINS = 0
_SESSION = "consumer.session.timeout.ms"


def keep_members(address: str, group: str) -> None:
    """Sets the session timeout of a group to half an hour: its members then need no heartbeat."""
    _configure(address, group, {_SESSION: str(PATIENCE_MS)})


def reset_members(address: str, group: str) -> None:
    _configure(address, group, {_SESSION: None})


def _configure(address: str, group: str, changes: Mapping[str, str | None]) -> None:
    request = requests.alter_configs(_GROUP_RESOURCE, group, changes)
    result = ask(address, request, _RECONCILE_SECONDS)
    if result.error:
        raise LabError(f"group {group}: IncrementalAlterConfigs returned error {result.error} {result.message}")


def supports_consumer_groups(address: str) -> bool:
    with connected_to(address) as line:
        return line.supports(CONSUMER_GROUP_HEARTBEAT, 0, Deadline.after(_RECONCILE_SECONDS))


def consumer_groups_at(address: str) -> list[str]:
    """Returns the groups of the consumer protocol that a broker lists; none where it does not know the protocol."""
    with connected_to(address) as line:
        deadline = Deadline.after(_RECONCILE_SECONDS)
        if not line.supports(group_messages.LIST_GROUPS, GROUP_TYPES, deadline):
            return []
        _, groups = line.call(group_messages.list_groups(typed=True), deadline)
    return [each.name for each in groups if each.type == CONSUMER_GROUP]


def join_consumer_group(address: str, group: str, topic: str) -> tuple[str, int]:
    """Returns (id, epoch) of a new member of a group of the consumer protocol, which has all that is free."""
    member = str(uuid.uuid4())
    # It has no partition yet, and leaves the choice of the assignor to the broker.
    return member, _heartbeat(address, group, (group, member, _JOINS, PATIENCE_MS, (topic,), ()))


def stay_in_group(address: str, group: str, member: str, epoch: int) -> int:
    """Sends a heartbeat in which nothing is new, and returns the epoch of the member.

    A coordinator computes an assignment once a second at most, with the next heartbeat.
    """
    return _heartbeat(address, group, (group, member, epoch, -1, None, None))


def describe_any(address: str, group: str) -> GroupDescription:
    """Returns state and members of a group of any type."""
    with connected_to(address) as line:
        return ask_group_description(line, group, Deadline.after(_RECONCILE_SECONDS))


def _heartbeat(address: str, group: str, values: tuple[object, ...]) -> int:
    request = CONSUMER_GROUP_HEARTBEAT.ask(0, values, lambda *found: found)
    error, message, epoch = ask(address, request, _RECONCILE_SECONDS)
    if error:
        raise LabError(f"group {group}: the heartbeat returned error {error} {message}")
    return int(epoch)
