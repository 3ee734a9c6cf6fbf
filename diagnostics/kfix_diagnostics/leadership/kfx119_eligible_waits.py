"""KFX119 eligible-waits: no leader, and a replica that is eligible to lead without data loss is dead.

Why it matters
    Producers and consumers of the partition are blocked. Metadata shows an empty ISR, as if every copy were lost; but
    Kafka remembers which replicas hold every record that was committed (the ELR), and who led last. An unclean election
    takes the first live replica in the order of the assignment instead, and loses records.

How kfix knows
    DescribeTopicPartitions of the broker with the newest metadata names the eligible and the last known leaders of a
    partition without a leader (Kafka 4.0 and newer). A broker that was killed leaves the ELR when it registers again;
    one that was shut down stays in it.

Remedies, safest first
    Start the eligible brokers with their old disks. One that was shut down is elected at once. If all of them were
    killed, the ELR is empty once they are back, and the last known leader is elected automatically, if it is alive. One
    that runs and is fenced (KFX814) is not started a second time; if all are alive, diagnose the quorum.

Do not
    Do not trigger a preferred election: it is refused. Do not set min.insync.replicas on the topic, not even to the
    same value: that removes the eligible and the last known leaders, and only an unclean election is left. Do not set
    unclean.leader.election.enable=true: when the last leader registers, another broker is elected first. If it is
    already true, or unknown, set it to false on the topic before anything is started, restarted or repaired, even if no
    replica is alive: the first one that registers may be elected. The active controller's setting counts, not the
    brokers'.

Sources
    Kafka 4.3.1: `PartitionChangeBuilder`, KIP-966; every statement was seen on real brokers. See docs/facts/kraft.md.
"""

from collections.abc import Iterator
from dataclasses import replace

from kfix.core.derive.checks import CaseFile, PartitionCheck, Rows, Scope
from kfix.core.derive.elections import UNCLEAN
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, brokers_named, continued, has, ids, per_topic, topics, waits
from kfix_diagnostics._advice import NEVER_SET_MIN_ISR, NEVER_UNCLEAN_CONFIG, blocked, diagnose_again, runbook, start
from kfix_diagnostics._bans import starts
from kfix_diagnostics._evidence import assignment_row, live_row, log_end_row, rows_of
from kfix_diagnostics._explained import explained_by, find_out_why, running, runs_but, which_runs
from kfix_diagnostics._failed_dirs import waits_for_disk
from kfix_diagnostics._words import left_ago
from kfix_diagnostics.leadership import _unclean as unclean
from kfix_diagnostics.leadership._eligible import waits_for

_SHOWN = 3
_NO_OTHER = "no replica alive"


@PartitionCheck(severity=Severity.CRITICAL, rows="leaderless and n_isr == 0 and not deleting", scope=Scope.KRAFT)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    found: dict[tuple[EligibleLeaders, int | None, str], list[TopicPartition]] = {}
    for row in rows:
        eligible = waits_for(row.tp, case)
        # Where the log directory of each live one failed, and none is away, KFX406 reports it.
        if eligible is not None and not (waits_for_disk(row.tp, case) and not case.away(_wanted(eligible, case))):
            waits = EligibleLeaders(*(tuple(sorted(each)) for each in eligible))
            trapped = row.n_replicas > 1 and any(_split(_wanted(waits, case), case))
            setting = unclean.allowed(row, case) if trapped else ""
            found.setdefault((waits, case.unclean_winner(row.tp) if setting else None, setting), []).append(row.tp)
    for (eligible, other, setting), tps in found.items():
        finding = _waits(eligible, tps, case)
        yield _trapped(finding, other, _split(_wanted(eligible, case), case), case, setting) if setting else finding


def _trapped(
    finding: Finding, other: int | None, away: tuple[tuple[int, ...], tuple[int, ...]], case: CaseFile, setting: str
) -> Finding:
    """Returns the finding where unclean elections are allowed: the registration may elect another replica before.

    `other` is the live replica that Kafka elects then, None if it is the first one that registers. A broker that runs
    and is fenced registers again as soon as its heartbeats arrive.
    """
    up, dead = away
    finding = replace(
        finding,
        obj=unclean.trap(finding, setting),
        about=f"{finding.about}, unclean elections {setting}, {_NO_OTHER if other is None else f'broker {other}'}",
        forbids=(*finding.forbids, *unclean.nothing_registers(case)),
    )
    winner = f"broker {other} may be elected first, and it may lack records"
    if other is None:
        winner = "a replica that lacks records may be elected first"
    if up:
        return _trapped_while_running(finding, winner, away, case, setting)
    tps, whom = finding.partitions, brokers_named(dead)
    them = "it" if len(dead) == 1 else "they"
    before = f"Before {whom} {are(len(dead))} started"
    firsts = unclean.set_to_false(tps, case, before=before, after=". Do not set min.insync.replicas")
    return replace(
        finding,
        summary=f"{per_topic(tps)} {has(topics(tps))} no leader, and {waits(topics(tps))} for {whom}, "
        f"which {are(len(dead))} dead. {unclean.is_set(setting)}: once {them} "
        f"{'starts' if len(dead) == 1 else 'start'}, {winner}",
        remedies=(*firsts, diagnose_again(case, "Then diagnose again: KFX119 names the broker to start")),
        never=(
            (
                f"Do not start {whom}, or any other broker, while {UNCLEAN} {setting}: another replica may be elected, "
                "and records lost"
            ),
            *finding.never,
        ),
    )


def _trapped_while_running(
    finding: Finding, winner: str, away: tuple[tuple[int, ...], tuple[int, ...]], case: CaseFile, setting: str
) -> Finding:
    up, dead = away
    tps, whom, one = finding.partitions, brokers_named(up), len(up) == 1
    before = f"At once, before {whom} {'is' if one else 'are'} unfenced"
    rest = f"; {brokers_named(dead)} {are(len(dead))} dead" if dead else ""
    return replace(
        finding,
        summary=f"{per_topic(tps)} {has(topics(tps))} no leader, and {waits(topics(tps))} for {whom}, "
        f"which {'runs, but is' if one else 'run, but are'} fenced{rest}. {unclean.is_set(setting)}: once "
        f"{'it registers' if one else 'they register'} again, {winner}",
        remedies=(
            *unclean.set_to_false(tps, case, before=before, after=". Do not set min.insync.replicas"),
            find_out_why(up, case, "Only then repair it: a leader is elected and no record is lost"),
            diagnose_again(case, "Then diagnose again"),
        ),
        never=(
            (
                f"Do not restart {whom}, and do not start any other broker, while {UNCLEAN} {setting}: another replica "
                "may be elected, and records lost"
            ),
            *finding.never,
        ),
    )


def _waits(eligible: EligibleLeaders, tps: list[TopicPartition], case: CaseFile) -> Finding:
    wanted = _wanted(eligible, case)
    _, dead = _split(wanted, case)
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"eligible {brokers_named(eligible.replicas or eligible.last_known)}",
        about=f"eligible {ids(eligible.replicas)}, last known leader {ids(eligible.last_known)}",
        summary=_summary(wanted, tps, case),
        cause=_cause(wanted, tps, case),
        evidence=(
            *rows_of(case, tps[:_SHOWN], _eligible_row, assignment_row, log_end_row),
            *live_row(case),
        ),
        blocked=blocked(case, tps),
        remedies=tuple(_remedies(eligible, wanted, tps, case)),
        never=(
            NEVER_SET_MIN_ISR,
            "Do not trigger a preferred election: it is refused and changes nothing",
            NEVER_UNCLEAN_CONFIG,
            *((f"Do not start {brokers_named(dead)} with an empty disk",) if dead else ()),
        ),
        partitions=tuple(tps),
        follows=explained_by(wanted, case),
    )


def _wanted(eligible: EligibleLeaders, case: CaseFile) -> tuple[int, ...]:
    """Returns the brokers that are not alive: the last known leader first, since it has the longest log.

    Where all of them are alive, these are all.
    """
    away = [b for b in (*eligible.last_known, *eligible.replicas) if b not in (case.live or ())]
    chosen = away or [*eligible.last_known, *eligible.replicas]
    return tuple(dict.fromkeys(chosen))


def _split(wanted: tuple[int, ...], case: CaseFile) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns those that run and are fenced, and those that are dead; neither has one that is alive."""
    up = running(wanted, case)
    return up, tuple(b for b in wanted if b not in up and b not in (case.live or ()))


def _summary(wanted: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> str:
    up, dead = _split(wanted, case)
    none = f"{per_topic(tps)} {has(topics(tps))} no leader"
    one = len(wanted) == 1
    if not up and not dead:
        lead = f"{'is' if one else 'are'} alive and may lead without data loss"
        return f"{none}, although {brokers_named(wanted)} {lead}"
    waiting = f"{none}, and {waits(topics(tps))} for {brokers_named(wanted)}"
    if up:
        return (
            f"{waiting}{which_runs(wanted, up, case)}{f'; {brokers_named(dead)} {are(len(dead))} dead' if dead else ''}"
        )
    leads = "it leads" if one else "one of them leads"
    return f"{waiting}, which {are(len(wanted))} dead. Once started, {leads} without data loss"


def _cause(wanted: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> Cause:
    up, dead = _split(wanted, case)
    if up:
        return Cause(runs_but(up, case), Confidence.CERTAIN)
    if not dead:
        return Cause("the active controller has not elected it: the quorum is at fault", Confidence.POSSIBLE)
    when = left_ago(wanted, case)
    if all(len(case.assignment(tp).replicas) == 1 for tp in tps):
        return Cause(
            f"{brokers_named(wanted)}, which left{when}, {has(len(wanted))} the only replica", Confidence.CERTAIN
        )
    return Cause(f"the ISR shrank below min.insync.replicas, and then {brokers_named(wanted)} left{when}")


def _eligible_row(case: CaseFile, tp: TopicPartition) -> Iterator[Evidence]:
    eligible = waits_for(tp, case)
    if eligible is not None:
        said = f"no leader, ISR [], eligible {ids(eligible.replicas)}, last known leader {ids(eligible.last_known)}"
        yield Evidence("DescribeTopicPartitions", str(tp), said)


def _remedies(
    eligible: EligibleLeaders, wanted: tuple[int, ...], tps: list[TopicPartition], case: CaseFile
) -> Iterator[Remedy]:
    up, dead = _split(wanted, case)
    if up:
        yield find_out_why(up, case, "Once that is repaired, a leader is elected and no record is lost")
        if dead:
            yield starts(Remedy(f"Also {continued(start(dead, case))}"), dead)
    if up or not dead:
        text = "Then diagnose again" if up else "Diagnose the quorum: an active controller elects it within seconds"
        yield diagnose_again(case, text)
        return
    text = (
        "it is elected, and no record is lost. The runbook names it"
        if len(wanted) == 1
        else "one of them is elected, and no record is lost. The runbook names them in order"
    )
    whom = runbook(case, "isr-dead", f"{start(wanted, case)}: {text}, and verifies the recovery")
    yield starts(whom, wanted)
    alive = [b for b in eligible.last_known if b in (case.live or ())]
    if alive and eligible.replicas:
        yield Remedy(
            "If the eligible broker was killed, it is no longer eligible once it is back: then "
            f"{brokers_named(alive)}, which led last and is alive, is elected automatically"
        )
    yield diagnose_again(case, "Diagnose again")
    if not any({*case.assignment(tp).replicas} & {*(case.live or ())} for tp in tps):
        return
    first = alive[0] if alive else None
    best = f"broker {first}, which led last," if first is not None else "the replica with the longest log"
    yield unclean.unclean_runbook(
        tps,
        case,
        f"Only if {brokers_named(wanted)} can never come back",
        f"the runbook puts {best} first, reads the assignment of {per_topic(tps)} again, and then asks for "
        "confirmation of each unclean election",
    )
