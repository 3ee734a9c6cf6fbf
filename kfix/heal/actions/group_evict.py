"""Removes one member that holds the rebalance of its consumer group, as LeaveGroup on its behalf.

A static member is removed by its group.instance.id together with its member id, so that a process that has taken its
place stays. The plan holds state and last generation of the group: if they differ right before the call, it is another
rebalance, and nothing is sent. The process of the member is not stopped: it joins again by itself as soon as it polls.
"""

import json
from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.group_reading import REBALANCING
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.actions.base import Action, ActionStatus, Kinds, Names, NotApplicable, Preview
from kfix.heal.model.facts import GROUP_FACTS, MEMBER_FACTS, Fact, ReadFact, about_member, about_rebalance
from kfix.heal.model.plan import Estimate, Gate, Risk

_MEMBER = ("group", "member")
_MAX_LOSS = (
    "none: it deletes no record and no offset. Its partitions go to other members, which read again what it has read "
    "and not committed"
)


class GroupEvict(Action):
    name = "group.evict"
    summary = "remove one member that holds the rebalance of its consumer group; its client joins again by itself"
    risk = Risk.ONE_GROUP
    gate_floor = Gate.STEP
    params: ClassVar[Kinds] = {"group": ArgKind.TEXT, "member": ArgKind.TEXT}
    frozen: ClassVar[Kinds] = {
        "client": ArgKind.TEXT,
        "host": ArgKind.TEXT,
        "instance": ArgKind.TEXT,
        "awaited": ArgKind.INT,
    }
    irreversible = "none: a client that still runs joins again by itself when it polls, as a new member"
    guarded: ClassVar[Mapping[str, Names]] = {"member_holds_rebalance": _MEMBER}
    proved: ClassVar[Mapping[str, Names]] = {"member_is_gone": _MEMBER}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        group, member = args.text("group"), args.text("member")
        state, _, count = (read(key).value for key in about_rebalance(group, *GROUP_FACTS))
        client, host, instance, holds = (read(key).value for key in about_member(group, member, *MEMBER_FACTS))
        if state not in REBALANCING:
            raise NotApplicable(f"group {group} does not rebalance, it is {state}")
        if client is None or not isinstance(count, int):
            raise NotApplicable(f"group {group} has no member {member}")
        if not holds:
            raise RefusedError(f"group {group}: {member} has joined since, so another member holds the rebalance")
        return args.with_(client=str(client), host=str(host), instance=str(instance or ""), awaited=count)

    def preview(self, args: Args) -> Preview:
        group, member, host = args.text("group"), args.text("member"), args.text("host").removeprefix("/")
        static = f", group.instance.id {args.text('instance')}" if args.text("instance") else ""
        others = args.number("awaited")
        which = "the only member that may hold" if others == 1 else f"one of {others} members that may hold"
        return Preview(
            what=f"remove {member} (client {args.text('client')} on {host}{static}) from group {group}: it is {which} "
            "its rebalance",
            target=f"group {group}",
            live=member,
            command=_command(args),
            estimate=Estimate(max_loss=_MAX_LOSS),
        )

    def writes(self, args: Args) -> Names:
        group, member = args.text("group"), args.text("member")
        return (*about_rebalance(group, *GROUP_FACTS), *about_member(group, member, *MEMBER_FACTS))

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.evict_member(args.text("group"), args.text("member"), args.text("instance"))

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        found = reader.group_members(args.text("group"))
        there = any(each.id == args.text("member") for each in found.members)
        return ActionStatus.NOT_STARTED if there else ActionStatus.DONE


def _command(args: Args) -> str:
    """No tool of Kafka removes one member; its Java client removes static ones."""
    if args.text("instance"):
        group, instance = json.dumps(args.text("group")), json.dumps(args.text("instance"))
        return (
            f"# with Kafka's Java client: admin.removeMembersFromConsumerGroup({group}, "
            f"new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove({instance}))))"
        )
    where = f"client {args.text('client')} on {args.text('host').removeprefix('/')}"
    return f"# no tool of Kafka removes one member: stop the process of {where}, it leaves the group when it stops"
