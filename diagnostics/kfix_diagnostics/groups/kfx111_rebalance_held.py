"""KFX111 rebalance-held: a group is stuck in a rebalance.

Why it matters
    While a group rebalances, its members receive no records. One member that does not rejoin holds up all others until
    its rebalance timeout, which is max.poll.interval.ms (5 minutes by default), and again at the next rebalance.

How kfix knows
    kfix reads the state of every group, and the members of up to five groups that rebalance and of the one that
    `--group` names, in two snapshots: PreparingRebalance or CompletingRebalance in both, with members that are in both.
    A group for which only the last snapshot shows it is a warning. So is one whose committed offsets advanced between
    the two snapshots: it rebalanced more than once and read in between, and the members that join and leave repeatedly
    are named instead. A coordinator waits for members that it already knows, so a member that joined between the two
    snapshots is ruled out, and so is one that the log of the offsets partition does not list in the last generation. No
    client request shows which of several such members the coordinator waits for. A group of the consumer protocol
    (KIP-848) is in Reconciling instead, and its coordinator reports the epoch that each member has reached: a member
    that is behind the group's epoch in both snapshots has not adopted its assignment. The other members continue to
    read what they have.

Remedies, safest first
    Read the log or a thread dump of the named members: one hangs in its record processing and does not poll. Restart
    that process; it leaves the group when it stops. A static member (group.instance.id) whose host is gone keeps its
    place until its session timeout, 30 minutes at most: start it again under the same id. If that cannot be done now,
    the runbook evict-member removes the member from the group, so that the others get its partitions: they read again
    what it has read and not committed. A process that still runs rejoins by itself, and may hold up the group again.

Do not
    Do not restart brokers and do not move the coordinator: the next one waits for the same member. Do not restart all
    members at once: each start triggers another rebalance. Do not evict members one by one on a guess.

Sources
    Kafka 2.7.1: GroupCoordinator.tryCompleteJoin waits for every known member. See docs/facts/consumer-groups.md.
"""

from collections.abc import Collection, Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows
from kfix.core.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.group_reading import REBALANCING, GroupMember, GroupReading, advanced, awaited, by_group
from kfix.core.snapshot.snapshot import Group
from kfix.core.wording import ago, several, some
from kfix_diagnostics._advice import diagnose_group
from kfix_diagnostics.groups._members import called, not_reconciled, restart_members
from kfix_diagnostics.groups._pace import at_a_record

_SHOWN = 5


@ClusterCheck(severity=Severity.CRITICAL, debounce=Debounce.NONE)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    at_records = frozenset(_at_a_record(case))
    held = tuple(_stuck(case, at_records))
    yield from held
    named = {finding.obj for finding in held} | {f"group {name}" for name in at_records}
    for group in case.snapshot.groups:
        if group.state in REBALANCING and f"group {group.name}" not in named:
            yield _rebalancing(group, case)


def _at_a_record(case: CaseFile) -> Iterator[str]:
    """Yields the groups whose members come and go because of a record, which KFX123 reports."""
    for name, readings in by_group(case.snapshot.group_readings).items():
        if len(readings) > 1 and at_a_record(*readings[-2:]):
            yield name


def _stuck(case: CaseFile, at_records: Collection[str]) -> Iterator[Finding]:
    for name, readings in by_group(case.snapshot.group_readings).items():
        if len(readings) < 2 or name in at_records:
            continue
        before, last = readings[-2:]
        if last.epoch is not None:
            yield from not_reconciled(before, last, case)
            continue
        if before.rebalances and last.rebalances and (moved := advanced(before, last)):
            yield _again(before, last, moved)
            continue
        stayed = {member.id for member in before.members or ()}
        members = _awaited(tuple(member for member in last.members or () if member.id in stayed), last, case)
        if before.rebalances and last.rebalances and members:
            yield _held(before, last, members, case)


def _awaited(stayed: tuple[GroupMember, ...], last: GroupReading, case: CaseFile) -> tuple[GroupMember, ...]:
    """Returns the members that may hold the rebalance, by the last generation that the log of the group holds."""
    logged = {m for log in case.offsets_logs for g in log.groups if g.name == last.group for m in g.members}
    return awaited(stayed, last.state, logged)


def _rebalancing(group: Group, case: CaseFile) -> Finding:
    return Finding(
        obj=f"group {group.name}",
        summary=f"group {group.name} is rebalancing ({group.state}): its members get no records until it ends; this "
        "does not show for how long",
        cause=Cause("a member joined or left, or one does not rejoin", Confidence.UNKNOWN),
        evidence=(Evidence("DescribeGroups", "state", group.state),),
        remedies=(diagnose_group(case, group.name, "See whether a member holds it up"),),
        never=("Do not restart all members at once: each start triggers another rebalance",),
    )


def _again(before: GroupReading, last: GroupReading, moved: int) -> Finding:
    """A group that reads between rebalances: members that come and go, and none that holds it."""
    lasted = ago(last.taken_at - before.taken_at)
    then, now = ({member.id: member for member in each.members or ()} for each in (before, last))
    came, went = [now[i] for i in now.keys() - then.keys()], [then[i] for i in then.keys() - now.keys()]
    who = sorted({called(member) for member in (*came, *went)})
    changed = f"; {several(len(came), 'member')} joined and {len(went)} left" if who else ""
    return Finding(
        obj=f"group {last.group}",
        summary=f"group {last.group} rebalances again and again, and reads between: its committed offsets advanced by "
        f"{moved} in {lasted}{changed}",
        cause=Cause(
            "members join and leave again and again" if who else "members do not rejoin in time",
            Confidence.LIKELY if who else Confidence.POSSIBLE,
        ),
        evidence=(
            Evidence("DescribeGroups", "state", f"{before.state}, and {lasted} later {last.state}"),
            Evidence("OffsetFetch", "committed offsets", f"advanced by {moved} in {lasted}"),
            *((Evidence("DescribeGroups", "members that joined or left", some(who, _SHOWN)),) if who else ()),
        ),
        remedies=(
            Remedy(
                f"Read the logs of {some(who, _SHOWN) if who else 'its members'}: a process that ends at a record, or "
                "is restarted, joins again each time; one that polls too seldom is removed (max.poll.interval.ms)"
            ),
        ),
        never=(
            "Do not evict a member: none holds the rebalance, and an eviction is another one",
            "Do not restart all members at once: each start triggers another rebalance",
        ),
        token=",".join(who),
    )


def _held(before: GroupReading, last: GroupReading, members: tuple[GroupMember, ...], case: CaseFile) -> Finding:
    lasted = ago(last.taken_at - before.taken_at)
    new = len(last.members or ()) - len(members)
    one = len(members) == 1
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"group {last.group}",
        summary=f"group {last.group} has been rebalancing for {lasted} or longer, so its members get no records; "
        f"{'member' if one else 'one of the members'} {some([called(m) for m in members], _SHOWN)} is holding it up",
        cause=Cause(
            f"{'this member does' if one else 'one of these members does'} not rejoin: its process hangs, or takes "
            "longer than max.poll.interval.ms between two polls",
            Confidence.LIKELY if one else Confidence.POSSIBLE,
        ),
        evidence=(
            Evidence("DescribeGroups", "state", f"{before.state}, and {lasted} later {last.state}"),
            *(Evidence("DescribeGroups", f"member {m.id}", f"client {m.client} on {m.host}") for m in members[:_SHOWN]),
            *((Evidence("DescribeGroups", "members that have joined since", str(new)),) if new else ()),
        ),
        blocked=Blocked(f"{several(len(last.members or ()), 'member')} of the group", (last.group,)),
        remedies=tuple(restart_members(last.group, members, case)),
        never=(
            "Do not restart brokers or move the coordinator because of it: the next one waits for the same member",
            "Do not restart all members at once: each start triggers another rebalance",
            *(() if one else ("Do not evict members one by one on a guess: each is another rebalance",)),
        ),
        token=",".join(sorted(member.id for member in members)),
    )
