"""Members of a group in a sentence, and what their owners can do about one that hangs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from kfix.core.derive.casefile import CaseFile
from kfix.core.diagnosis.finding import Remedy
from kfix.core.snapshot.group_reading import GroupMember
from kfix.core.wording import some
from kfix_diagnostics._advice import runbook, servers

_EVICTED_SHOWN = 3


def called(member: GroupMember) -> str:
    name = f"{member.instance} ({member.client})" if member.instance else member.client
    return f"{name} on {member.host.removeprefix('/')}"


def restart_members(group: str, members: Sequence[GroupMember], case: CaseFile) -> Iterator[Remedy]:
    """Yields what ends a rebalance without a change by kfix."""
    yield Remedy(
        "Read the log or a thread dump of these members, and restart the process that does not poll",
        f"kafka-consumer-groups.sh {servers(case)} --describe --group {shlex.quote(group)} --members --verbose",
    )
    static = [member.instance for member in members if member.instance]
    if static:
        yield Remedy(
            f"A static member whose host is gone keeps its place until its session timeout: start {some(static)} again "
            "with the same group.instance.id"
        )
    yield Remedy("Or wait for its rebalance timeout (max.poll.interval.ms): the coordinator then removes the member")


def evictions(group: str, members: Sequence[GroupMember], case: CaseFile) -> Iterator[Remedy]:
    """Yields the eviction of each of these members, of at most three."""
    yield from (_eviction(group, member, case, alone=len(members) == 1) for member in members[:_EVICTED_SHOWN])


def _eviction(group: str, member: GroupMember, case: CaseFile, *, alone: bool) -> Remedy:
    text = f"If {called(member)} cannot be restarted now: evict it (a gated runbook)"
    if not alone:
        text = f"If it is {called(member)} that hangs and cannot be restarted: evict it (a gated runbook)"
    return runbook(case, "evict-member", text, f"group={group}", f"member={member.id}")
