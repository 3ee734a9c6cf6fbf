"""The rungs of the group's members: its state, who holds a rebalance, and whether assigned partitions have leaders."""

import shlex
from dataclasses import replace

from kfix.core.diagnosis.finding import Evidence, Remedy, Rung
from kfix.core.snapshot.group_reading import (
    CONSUMER_GROUP,
    DEAD,
    SHARE_GROUP,
    STREAMS_GROUP,
    GroupReading,
    advanced,
    described_by,
)
from kfix.core.wording import ago, several, some
from kfix_diagnostics._advice import servers
from kfix_diagnostics.ladder.asked import NO_LEADER, Asked, clear, fails, in_doubt, unread

#: What a reader calls a group of each type that Kafka 4 added.
TYPE_NAMES = {
    CONSUMER_GROUP: "a group of the consumer protocol (KIP-848)",
    SHARE_GROUP: "a share group",
    STREAMS_GROUP: "a streams group",
}
_MEMBERS = ("group members", "group coordinator", "coordinator")


def state(asked: Asked) -> Rung:
    name, reading = "state", asked.latest
    if reading is not None and reading.state:
        if reading.state == DEAD:
            said = "its coordinator does not know the group"
        elif reading.members is None:
            said = "its members were not read"
        elif not reading.members:
            said = "no member, so no client of the group runs"
        else:
            said = several(len(reading.members), "member")
        source = described_by(reading.group_type)
        return clear(name, f"{reading.state}{_kind(reading)}: {said}", (Evidence(source, "group", reading.state),))
    listed = next((g for g in asked.case.snapshot.groups if g.name == asked.group), None)
    if listed is not None and listed.state:
        by = ", ".join(map(str, listed.listed_by))
        said = f"{listed.state}, {several(len(listed.members), 'member')}, by the listing of broker {by}"
        said += f" ({TYPE_NAMES[listed.group_type]})" if listed.group_type in TYPE_NAMES else ""
        return clear(
            name, said, (Evidence(f"ListGroups of broker {by}", "group", f"{listed.state} (no proof of health)"),)
        )
    return unread(name, asked.why_unread(*_MEMBERS))


def _kind(reading: GroupReading) -> str:
    if reading.group_type in TYPE_NAMES:
        return f", {TYPE_NAMES[reading.group_type]}"
    return f" of type {reading.kind}" if reading.kind else ""


def rebalance(asked: Asked) -> Rung:
    name, reading, before = "rebalance", asked.latest, asked.earlier
    found = asked.of_group("KFX111")
    if found is not None:
        # The last of its remedies is the command that evicts the member.
        return replace(fails(name, found), next_steps=found.remedies)
    if reading is None or reading.members is None:
        return unread(name, _why_no_members(asked))
    if reading.group_type == SHARE_GROUP:
        return clear(name, "the members of a share group do not wait for each other")
    return _in_rebalance(reading, before)


def _in_rebalance(reading: GroupReading, before: GroupReading | None) -> Rung:
    name = "rebalance"
    if not reading.rebalances:
        return clear(name, "the group is not rebalancing")
    if before is None:
        return in_doubt(name, f"the group is in {reading.state}; one snapshot does not show whether that lasts")
    if moved := advanced(before, reading):
        lasted = ago(reading.taken_at - before.taken_at)
        return in_doubt(name, f"it rebalances again and again, and reads between: {moved} records in {lasted}")
    who = "in it" if reading.epoch is None else "behind its epoch"
    return in_doubt(name, f"the group is in {reading.state}, and no member was {who} in both snapshots")


def _why_no_members(asked: Asked) -> str:
    if asked.latest is not None and asked.latest.group_type == STREAMS_GROUP:
        return "kfix does not read the members of a streams group"
    return asked.why_unread(*_MEMBERS)


def partitions(asked: Asked) -> Rung:
    name, reading = "partitions", asked.latest
    found = asked.of_group("KFX112")
    if found is not None:
        # The finding of the partition has the remedy; this one is its consequence.
        return fails(name, asked.of_any(found.partitions, NO_LEADER) or found, found.evidence)
    if reading is None or reading.partitions is None:
        check = Remedy(
            "List the partitions of the group",
            f"kafka-consumer-groups.sh {servers(asked.case)} --describe --group {shlex.quote(asked.group)}",
        )
        return unread(name, asked.why_unread("group offsets", "group coordinator", "coordinator"), check)
    if not reading.partitions:
        return clear(name, "no partition is assigned or has a committed offset")
    more = f"; {reading.left_out} more were not read" if reading.left_out else ""
    said = f"{several(len(reading.partitions), 'partition')} of the group: no finding leaves one without a leader{more}"
    topics = sorted({tp.topic for tp in reading.partitions})
    return clear(name, said, (Evidence("OffsetFetch and DescribeGroups", "topics", some(topics)),))
