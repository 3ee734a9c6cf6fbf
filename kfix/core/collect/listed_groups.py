"""State and members of the groups that a broker lists, by the request of each group's type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kfix.core.kafka import group_messages
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_messages import GroupDescription, ListedGroup
from kfix.core.kafka.new_groups import NOT_FOUND, ask_typed
from kfix.core.snapshot.group_reading import CONSUMER_GROUP, DEAD, SHARE_GROUP, STREAMS_GROUP
from kfix.core.snapshot.snapshot import Group
from kfix.core.timing import Deadline

#: Most groups that are described per broker, so that 100 000 groups do not take a minute.
MOST_DESCRIBED = 1000
#: The types whose groups DescribeGroups calls Dead. The members of a streams group are not read.
_OTHERS = (CONSUMER_GROUP, SHARE_GROUP)


def describe_listed(
    line: BrokerConnection, listed: Sequence[ListedGroup], deadline: Deadline
) -> list[GroupDescription]:
    """Returns the groups that the broker described without an error."""
    chosen = listed[:MOST_DESCRIBED]
    typed = {kind: [each.name for each in chosen if each.type == kind] for kind in _OTHERS}
    rest = tuple(each.name for each in chosen if each.type not in {*_OTHERS, STREAMS_GROUP})
    found = line.call(group_messages.describe_groups(rest), deadline) if rest else []
    # A broker that lists no types may still have groups of the consumer protocol (3.7).
    untyped = {each.name for each in chosen if not each.type}
    doubtful = [each.name for each in found if not each.error and each.state == DEAD and each.name in untyped]
    found = [each for each in found if not each.error]
    for kind in _OTHERS:
        names = [*typed[kind], *doubtful]
        described = ask_typed(line, kind, names, deadline) if names else None
        answered = {each.name: each for each in described or () if not each.error}
        found = [each for each in found if each.name not in answered]
        found += answered.values()
        refused = {each.name for each in described or () if each.error not in {0, NOT_FOUND}}
        # A group that kfix may not read as this type is unknown, not dead.
        found = [each for each in found if each.name not in refused]
    return found


def as_groups(
    listed: Mapping[int, Sequence[ListedGroup]], described: Mapping[str, GroupDescription]
) -> tuple[Group, ...]:
    """Returns every listed group, sorted by name, with state and members if it was described."""
    listers: dict[str, list[int]] = {}
    types: dict[str, str] = {}
    for broker, groups in listed.items():
        for each in groups:
            listers.setdefault(each.name, []).append(broker)
            types[each.name] = each.type or types.get(each.name, "")
    return tuple(
        Group(name, tuple(sorted(brokers)), d.state, _members(d), types[name])
        if (d := described.get(name)) is not None
        else Group(name, tuple(sorted(brokers)), group_type=types[name])
        for name, brokers in sorted(listers.items())
    )


def _members(group: GroupDescription) -> tuple[str, ...]:
    return tuple(f"{each.client}{each.host}" for each in group.members or ())
