"""The rungs of the group's members: its state, who holds a rebalance, and whether assigned partitions have leaders."""

from __future__ import annotations

import shlex
from dataclasses import replace

from kfix.model.diagnosis.finding import Evidence, Remedy
from kfix.model.diagnosis.group_story import Rung
from kfix.wording import several, some
from kfix_diagnostics._advice import servers
from kfix_diagnostics.ladder.asked import NO_LEADER, Asked, clear, fails, in_doubt, unread

_MEMBERS = ("group members", "group coordinator", "coordinator")


def state(asked: Asked) -> Rung:
    name, reading = "state", asked.latest
    if reading is not None and reading.members is not None:
        kind = f" of type {reading.kind}" if reading.kind else ""
        if reading.state == "Dead":
            said = "its coordinator does not know the group, or it is one of the consumer protocol (KIP-848)"
        elif not reading.members:
            said = "no member, so no client of the group runs"
        else:
            said = several(len(reading.members), "member")
        return clear(name, f"{reading.state}{kind}: {said}", (Evidence("DescribeGroups", "group", reading.state),))
    listed = next((g for g in asked.case.snapshot.groups if g.name == asked.group), None)
    if listed is not None and listed.state:
        by = ", ".join(map(str, listed.listed_by))
        said = f"{listed.state}, {several(len(listed.members), 'member')}, by the listing of broker {by}"
        return clear(
            name, said, (Evidence(f"ListGroups of broker {by}", "group", f"{listed.state} (no proof of health)"),)
        )
    return unread(name, asked.why_unread(*_MEMBERS))


def rebalance(asked: Asked) -> Rung:
    name, reading, before = "rebalance", asked.latest, asked.earlier
    found = asked.of_group("KFX111")
    if found is not None:
        # The last of its remedies is the command that evicts the member.
        return replace(fails(name, found), next_steps=found.remedies)
    if reading is None or reading.members is None:
        return unread(name, asked.why_unread(*_MEMBERS))
    if not reading.rebalances:
        return clear(name, "the group is not rebalancing")
    if before is None:
        return in_doubt(name, f"the group is in {reading.state}; one snapshot does not show whether that lasts")
    return in_doubt(name, f"the group is in {reading.state}, and no member was in it in both snapshots")


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
