"""KFX106 coordinator-silent: an offsets partition has a leader, but its coordinator does not respond.

Why it matters
    Groups of this partition are blocked as if it had no leader. Leadership is not health: the coordinator may still be
    loading the partition, may have failed to load it, or its broker hangs.

How kfix knows
    FindCoordinator, then OffsetFetch sent to the broker it names, for one group of each offsets partition; if no group
    is known, for one that does not exist, which creates nothing. Error 14 means loading, 15 no coordinator, 16 another
    broker is the coordinator; no answer means a hung broker or a network cut. An authorization error is an answer, and
    no sign of a fault.

Remedies, safest first
    While it loads: wait, minutes for a large partition, and diagnose again. If loading does not end: move the
    leadership of the partition to another in-sync replica, which loads it afresh. If the broker hangs, see KFX402. If
    the partition is one that the log cleaner has not compacted (KFX115): let it finish, and restore the cleaner then.

Do not
    Do not restart the broker blindly: the next coordinator loads the same partition from the start. Do not trigger an
    unclean election: the leader is alive.

Sources
    Kafka 2.7.1: GroupCoordinator answers COORDINATOR_LOAD_IN_PROGRESS until it has read the partition to its end. A
    failed load is logged by GroupMetadataManager there, and by CoordinatorRuntime of the coordinator of Kafka 4. See
    docs/facts/coordinators.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.broker_answers import OffsetsLogSize
from kfix.core.snapshot.snapshot import CoordinatorProbe, TopicPartition
from kfix.core.wording import brokers_named, known_size, per_topic, them
from kfix_diagnostics._advice import cluster_options, diagnose_again, runbook
from kfix_diagnostics._bans import no_unclean_election
from kfix_diagnostics._compaction import of_partitions, short_copies, size_rows, uncompacted
from kfix_diagnostics._evidence import group_rows, probe_words, state_row
from kfix_diagnostics._explained import REFUSED, UNRESOLVED, explained_by
from kfix_diagnostics.groups._members import gave_up, new_coordinator

NO_ANSWER = -1
LOADING = 14
UNCOMPACTED = "KFX115"
#: No answer, no leader known, not leader, timed out, loading, not available, not coordinator.
SICK = frozenset({NO_ANSWER, 5, 6, 7, LOADING, 15, 16})


@ClusterCheck(severity=Severity.CRITICAL, rows="offsets and leader >= 0 and not leaderless")
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    told = {probe.partition for probe in gave_up(case)}
    failed = [probe for probe in case.probes if _error(probe) in SICK and probe.partition not in told]
    leaders = {row.partition: row.leader for row in rows} if failed else {}
    led = (probe for probe in failed if probe.partition in leaders)
    by_place = grouped(((leaders[probe.partition], _error(probe) == LOADING), probe) for probe in led)
    for (leader, loading), probes in sorted(by_place.items()):
        yield _silent(leader, probes, case, loading=loading)


def _error(probe: CoordinatorProbe) -> int:
    """Returns the error of the first request that failed; 0 where none did, and where no broker could be asked."""
    return 0 if probe.find_error == NO_ANSWER else probe.find_error or probe.fetch_error or 0


def _silent(leader: int, probes: list[CoordinatorProbe], case: CaseFile, *, loading: bool) -> Finding:
    tps = tuple(sorted({TopicPartition(OFFSETS_TOPIC, p.partition) for p in probes}))
    fresh = loading and case.restarting(leader)
    severity = Severity.INFO if fresh else Severity.WARNING if loading else Severity.CRITICAL
    long = of_partitions(uncompacted(case), tps) if loading else ()
    they = them(len(tps))
    doing = (
        f"is still loading {per_topic(tps)}, and the groups there are blocked until it has finished"
        if loading
        else f"does not respond{_at(leader, case)} for {per_topic(tps)}, although the broker leads {they}"
    )
    return Finding(
        severity=severity,
        obj=f"coordinator on broker {leader}",
        about=f"coordinator on broker {leader}, loading" if loading else "",
        summary=f"the coordinator on broker {leader} {doing}",
        cause=_uncleaned(long, leader) if long else _cause(leader, case, loading=loading),
        evidence=(
            *(_row(p) for p in probes[:3]),
            *size_rows(case, long),
            *state_row(case, tps[0]),
            *group_rows(case, tps[0]),
        ),
        blocked=Blocked(groups=case.blocked_groups(tps), others_unknown=not case.all_named(tps)),
        remedies=tuple(_after_loading(long, case) if long else _remedies(leader, case, loading=loading)),
        never=(
            *(("Do not move the leadership to a copy of the same size: loading would start again",) if long else ()),
            "Do not restart the broker blindly: the next coordinator loads the same partitions from the start",
            "Do not trigger an unclean election: the partition has a leader",
        ),
        forbids=(no_unclean_election(tps),),
        partitions=tps,
        follows=(f"KFX402:broker {leader}", *explained_by((leader,), case)),
        headline=f"the coordinator on broker {leader} is still loading" if fresh else "",
        token="loading" if loading else "silent",
    )


def _at(leader: int, case: CaseFile) -> str:
    """Returns the address that the broker advertises: another one may answer, such as the one given to kfix."""
    where = case.address(leader)
    return f" at {where}" if leader in case.silent and where else ""


def _row(probe: CoordinatorProbe) -> Evidence:
    why = f" ({probe.error})" if probe.error else ""
    return Evidence("coordinator probe", probe.asked_for, probe_words(probe.find_error, probe.fetch_error) + why)


def _cause(leader: int, case: CaseFile, *, loading: bool) -> Cause:
    if leader in case.silent:
        why = case.silent[leader] or "no answer"
        return Cause(f"broker {leader} cannot be asked{_at(leader, case)}: {why} (KFX402)")
    if loading:
        return Cause("a new coordinator reads the partition from its start before it serves groups")
    return Cause("loading failed, or the brokers disagree about which of them is the coordinator", Confidence.POSSIBLE)


def _uncleaned(long: tuple[OffsetsLogSize, ...], leader: int) -> Cause:
    return Cause(
        f"it reads {known_size(sum(log.size for log in long))} from the start: the log cleaner has not compacted "
        f"{per_topic([TopicPartition(OFFSETS_TOPIC, log.partition) for log in long])} on broker {leader} (KFX115)"
    )


def _after_loading(long: tuple[OffsetsLogSize, ...], case: CaseFile) -> Iterator[Remedy]:
    yield diagnose_again(case, "Let it finish loading. Diagnose again until it serves its groups")
    yield Remedy(
        "Then restore the log cleaner, before the next change of leader",
        f"kfix diagnose {cluster_options(case)} --prevention --only {UNCOMPACTED}",
    )
    short = [broker for log in long for broker in short_copies(case, log)]
    if short:
        yield Remedy(
            f"If that takes too long: the copy on {brokers_named(sorted(set(short)))} is short and loads quickly once "
            "it leads"
        )


def _remedies(leader: int, case: CaseFile, *, loading: bool) -> Iterator[Remedy]:
    if any(error in case.silent.get(leader, "") for error in (REFUSED, UNRESOLVED)):
        yield diagnose_again(
            case, f"Follow KFX402 of broker {leader} first: nothing answers at its address. Then diagnose again"
        )
        return
    yield diagnose_again(
        case, "Wait a minute, then diagnose again" if loading else "Diagnose again: it may just have moved"
    )
    again = "" if case.kraft else "have the controller read the state again, then "
    yield runbook(
        case,
        "coordinator-not-answering",
        f"If it persists: {again}move the leadership from broker {leader} to another in-sync replica",
    )
    if not loading:
        # The new coordinator logs a failed load as CoordinatorRuntime, the old one as GroupMetadataManager.
        name = "CoordinatorRuntime" if new_coordinator(case) else "GroupMetadataManager"
        yield Remedy(f"Search the log of broker {leader} for errors of {name}")
