"""Members of groups of the consumer protocol (KIP-848) that join and then do nothing, over plain requests."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from kfix.core.deadline import Deadline
from kfix.core.errors import LabError
from kfix.core.kafka import group_messages, requests
from kfix.core.kafka.group_messages import GROUP_TYPES
from kfix.core.kafka.new_groups import ask_group_description
from kfix.core.snapshot.group_reading import CONSUMER_GROUP
from kfix.lab.clients.asking import CONSUMER_GROUP_HEARTBEAT, ask, connected_to

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kfix.core.kafka.group_messages import GroupDescription

#: The resource type of the settings of a group (KIP-848).
_GROUP_RESOURCE = 32
#: Half an hour, as long as a member of the classic protocol keeps its place in the same incident.
PATIENCE_MS = 1_800_000
_SECONDS = 10.0
_JOINS = 0
_SESSION = "consumer.session.timeout.ms"


def keep_members(address: str, group: str) -> None:
    """Sets the session timeout of a group to half an hour: its members then need no heartbeat."""
    _configure(address, group, {_SESSION: str(PATIENCE_MS)})


def reset_members(address: str, group: str) -> None:
    _configure(address, group, {_SESSION: None})


def _configure(address: str, group: str, changes: Mapping[str, str | None]) -> None:
    request = requests.alter_configs(_GROUP_RESOURCE, group, changes)
    result = ask(address, request, _SECONDS)
    if result.error:
        raise LabError(f"group {group}: IncrementalAlterConfigs returned error {result.error} {result.message}")


def supports_consumer_groups(address: str) -> bool:
    with connected_to(address) as line:
        return line.supports(CONSUMER_GROUP_HEARTBEAT, 0, Deadline.after(_SECONDS))


def consumer_groups_at(address: str) -> list[str]:
    """Returns the groups of the consumer protocol that a broker lists; none where it does not know the protocol."""
    with connected_to(address) as line:
        deadline = Deadline.after(_SECONDS)
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
        return ask_group_description(line, group, Deadline.after(_SECONDS))


def _heartbeat(address: str, group: str, values: tuple[object, ...]) -> int:
    request = CONSUMER_GROUP_HEARTBEAT.ask(0, values, lambda *found: found)
    error, message, epoch = ask(address, request, _SECONDS)
    if error:
        raise LabError(f"group {group}: the heartbeat returned error {error} {message}")
    return int(epoch)
