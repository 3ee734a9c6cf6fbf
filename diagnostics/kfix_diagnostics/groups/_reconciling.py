"""A group of the consumer protocol (KIP-848) that does not leave Reconciling: a member stays behind its epoch."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.derive.casefile import CaseFile
from kfix.core.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Severity
from kfix.core.snapshot.group_reading import RECONCILING, GroupMember, GroupReading, awaited, described_by
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import ago, several, some
from kfix_diagnostics._words import per_topic
from kfix_diagnostics.groups._members import called, evictions, restart_members

_SHOWN = 5


def not_reconciled(code: str, before: GroupReading, last: GroupReading, case: CaseFile) -> Iterator[Finding]:
    """Yields the finding if the same members stood at the same epochs, behind the group's, in both readings."""
    earlier = {member.id: member.epoch for member in _behind(before)}
    stood = tuple(member for member in _behind(last) if earlier.get(member.id) == member.epoch)
    if before.state == last.state == RECONCILING and stood:
        yield _held(code, before, last, stood, case)


def _behind(reading: GroupReading) -> tuple[GroupMember, ...]:
    return awaited(reading.members or (), reading.state, (), reading.epoch)


def _held(
    code: str, before: GroupReading, last: GroupReading, stood: tuple[GroupMember, ...], case: CaseFile
) -> Finding:
    lasted, source = ago(last.taken_at - before.taken_at), described_by(last.group_type)
    kept = _kept(stood)
    waiting = [m for m in last.members or () if not kept.isdisjoint(set(m.target or ()) - set(m.assigned))]
    names, verb = some([called(m) for m in stood], _SHOWN), "does" if len(stood) == 1 else "do"
    keeps = f", and {'keeps' if len(stood) == 1 else 'keep'} {per_topic(kept)} from the others" if kept else ""
    return Finding(
        code=code,
        severity=Severity.CRITICAL,
        obj=f"group {last.group}",
        summary=f"group {last.group} has been rebalancing for {lasted} or longer: {names} {verb} not adopt the "
        f"assignment of epoch {last.epoch}{keeps}",
        cause=Cause(
            f"{'this member does' if len(stood) == 1 else 'these members do'} not poll: the process hangs, or takes "
            "longer than max.poll.interval.ms between two polls",
            Confidence.LIKELY,
        ),
        evidence=(
            Evidence(source, "state", f"{before.state}, and {lasted} later {last.state} at epoch {last.epoch}"),
            *(Evidence(source, f"member {m.id}", _position(m)) for m in stood[:_SHOWN]),
        ),
        blocked=Blocked(_who(len(stood), len(waiting)), (last.group,)),
        remedies=(*restart_members(last.group, stood, case), *evictions(last.group, stood, case)),
        never=(
            "Do not restart brokers or move the coordinator because of it: the next one waits for the same member",
            "Do not restart the other members: they read the partitions that they have",
            *(() if len(stood) == 1 else ("Do not evict members one by one on a guess",)),
        ),
        token=",".join(sorted(member.id for member in stood)),
    )


def _kept(stood: tuple[GroupMember, ...]) -> set[TopicPartition]:
    """Returns the partitions that these members have and are to give up."""
    return {tp for member in stood for tp in set(member.assigned) - set(member.target or ())}


def _position(member: GroupMember) -> str:
    has, wanted = (per_topic(tps) or "no partition" for tps in (member.assigned, member.target or ()))
    return f"client {member.client} on {member.host}, at epoch {member.epoch}; has {has}, is to have {wanted}"


def _who(standing: int, waiting: int) -> str:
    hung = several(standing, "member that does not poll", "members that do not poll")
    return f"{hung}, and {several(waiting, 'member')} that {'waits' if waiting == 1 else 'wait'}" if waiting else hung
