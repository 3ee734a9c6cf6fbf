"""Members of a group in a sentence, and what their owners can do about one that hangs."""

import shlex
from collections.abc import Iterator, Sequence

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.finding import Blocked, Cause, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.group_reading import RECONCILING, GroupMember, GroupReading, awaited, described_by
from kfix.core.snapshot.snapshot import CoordinatorProbe, TopicPartition
from kfix.core.wording import ago, does, per_topic, several, some, waits
from kfix_diagnostics._advice import runbook, servers

_EVICTED_SHOWN = 3


def called(member: GroupMember) -> str:
    name = f"{member.instance} ({member.client})" if member.instance else member.client
    return f"{name} on {member.host.removeprefix('/')}"


def restart_members(group: str, members: Sequence[GroupMember], case: CaseFile) -> Iterator[Remedy]:
    """Yields what ends a rebalance without a change by kfix, then the eviction of each member, of at most three."""
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
    for member in members[:_EVICTED_SHOWN]:
        text = f"If {called(member)} cannot be restarted now: evict it (a gated runbook)"
        if len(members) > 1:
            text = f"If it is {called(member)} that hangs and cannot be restarted: evict it (a gated runbook)"
        yield runbook(case, "evict-member", text, f"group={group}", f"member={member.id}")


# A group of the consumer protocol (KIP-848) that does not leave Reconciling: a member stays behind its epoch.

_SHOWN = 5


def not_reconciled(before: GroupReading, last: GroupReading, case: CaseFile) -> Iterator[Finding]:
    """Yields the finding if the same members stood at the same epochs, behind the group's, in both readings."""
    earlier = {member.id: member.epoch for member in _behind(before)}
    stood = tuple(member for member in _behind(last) if earlier.get(member.id) == member.epoch)
    if before.state == last.state == RECONCILING and stood:
        yield _held(before, last, stood, case)


def _behind(reading: GroupReading) -> tuple[GroupMember, ...]:
    return awaited(reading.members or (), reading.state, (), reading.epoch)


def _held(before: GroupReading, last: GroupReading, stood: tuple[GroupMember, ...], case: CaseFile) -> Finding:
    lasted, source = ago(last.taken_at - before.taken_at), described_by(last.group_type)
    kept = _kept(stood)
    waiting = [m for m in last.members or () if not kept.isdisjoint(set(m.target or ()) - set(m.assigned))]
    names, verb = some([called(m) for m in stood], _SHOWN), does(len(stood))
    keeps = f", and {'keeps' if len(stood) == 1 else 'keep'} {per_topic(kept)} from the others" if kept else ""
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"group {last.group}",
        summary=f"group {last.group} has been rebalancing for {lasted} or longer: {names} {verb} not adopt the "
        f"assignment of epoch {last.epoch}{keeps}",
        cause=Cause(
            f"{'this member does' if len(stood) == 1 else 'these members do'} not poll: the process hangs, or takes "
            "longer than max.poll.interval.ms between two polls"
        ),
        evidence=(
            Evidence(source, "state", f"{before.state}, and {lasted} later {last.state} at epoch {last.epoch}"),
            *(Evidence(source, f"member {m.id}", _position(m)) for m in stood[:_SHOWN]),
        ),
        blocked=Blocked(_who(len(stood), len(waiting)), (last.group,)),
        remedies=tuple(restart_members(last.group, stood, case)),
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
    return f"{hung}, and {several(waiting, 'member')} that {waits(waiting)}" if waiting else hung


# Which offsets partitions their coordinator gave up: KFX118 reports them, KFX106 other silent coordinators.

NOT_COORDINATOR = 16
#: The feature of the coordinator that loads a partition as a whole, or not at all (KIP-848).
_FEATURE = "group.version"


def new_coordinator(case: CaseFile) -> bool:
    """Returns whether the cluster has the group coordinator of KIP-848."""
    quorum = case.snapshot.quorum
    return quorum is not None and quorum.features.get(_FEATURE, 0) >= 1


def gave_up(case: CaseFile) -> Iterator[CoordinatorProbe]:
    """Yields the probes that the leader of their partition refuses, although every broker names it as coordinator."""
    if not new_coordinator(case):
        return
    for probe in case.probes:
        views = case.views_of(TopicPartition(OFFSETS_TOPIC, probe.partition)).values()
        leads = bool(views) and all(view.leader == probe.coordinator for view in views)
        if probe.find_error == 0 and probe.fetch_error == NOT_COORDINATOR and leads:
            yield probe
