"""KFX103 isr-gone: no leader, every in-sync replica is dead, and only out-of-sync replicas are alive.

Why it matters
    The partition stays down by design: the live replicas may lack acknowledged records. That includes records of
    producers with acks=all if the ISR had shrunk to one replica and min.insync.replicas is 1.

How kfix knows
    No member of the ISR is registered, and at least one other assigned replica is. A member that runs, and is fenced or
    not registered, is not dead (KFX814, KFX403): it leads again once that is repaired. kfix asks each live replica for
    its own log end, which works without a leader. An empty ISR (Kafka 4) counts only if the broker with the newest
    metadata shows that no replica is eligible to lead; otherwise KFX119 names the broker to start. If that was not
    read, a dead replica may hold every record.

Remedies, safest first
    If unclean.leader.election.enable is true or unknown on KRaft, set it to false on the topic first: otherwise Kafka
    elects a live replica within 5 minutes, or when any other broker starts. Start a member of the ISR: nothing is lost.
    Only if none can come back, trigger an unclean election. Its winner is the first live replica in assignment order,
    not the one with the longest log: put the best replica first by a reassignment of the same replicas, then elect.
    Whatever the winner lacks is lost; committed offsets can be saved before from the disk of an in-sync replica (`kfix
    offsets save --log-dir`) and restored afterwards. The dead leader may have held records that no live broker knows
    of, so every figure is "at least". Restart transactional clients afterwards. If the eligible replicas were not read:
    start the dead ones with their old disks and diagnose again; no unclean election before. If Kafka forgot them (an
    empty ISR, and no eligible replica), no start elects a leader: start the dead ones all the same, so that the
    remaining unclean election can choose the longest of all logs.

Do not
    Do not set unclean.leader.election.enable on the topic, do not delete or re-create the topic, do not start the dead
    broker with an empty disk: it would be the only in-sync replica, and the others would truncate to it.

Sources
    Kafka 2.7.1: Election.scala, PartitionStateMachine.collectUncleanLeaderElectionState. On a real cluster assignment
    [1,2,3] with log ends 50 (broker 2) and 100 (broker 3) elected broker 2 and discarded 50 records. See
    docs/facts/controller.md and docs/facts/data-loss.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, PartitionCheck, Rows
from kfix.core.diagnosis.finding import Cause, Confidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, brokers_named, continued, has, ids, per_topic, several, topics
from kfix_diagnostics._advice import NEVER_UNCLEAN_CONFIG, blocked, runbook, save_from_disk
from kfix_diagnostics._bans import starts, unclean_election
from kfix_diagnostics._evidence import assignment_row, live_row, log_end_row, rows_of, state_row, view_rows
from kfix_diagnostics._explained import explained_by, find_out_why, running, runs_but
from kfix_diagnostics._words import left_ago, start_any
from kfix_diagnostics.leadership._eligible import with_isr
from kfix_diagnostics.leadership._empty_isr import describe_empty_isr
from kfix_diagnostics.leadership._unclean import allowed, soon_elected, unclean_runbook

SHOWN = 3


@PartitionCheck(
    severity=Severity.CRITICAL,
    rows="leaderless and n_live_isr == 0 and n_live_replicas > 0 and not deleting and not zk_lacks",
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    by_isr: dict[tuple[tuple[int, ...], str], list[TopicPartition]] = {}
    yield from describe_empty_isr("KFX103", rows, case)
    for row in with_isr(rows, case):
        isr = tuple(sorted(case.isr(row.tp)))
        soon = allowed(row, case) if case.kraft and isr else ""
        by_isr.setdefault((isr, soon), []).append(row.tp)
    for (isr, soon), tps in by_isr.items():
        finding = _gone(isr, tps, case)
        yield soon_elected(finding, isr, case, soon) if soon else finding


def _gone(isr: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> Finding:
    alive = sorted({b for tp in tps for b in case.among_live(case.assignment(tp).replicas)})
    up = running(isr, case)
    state = f"every in-sync replica {ids(isr)} is dead"
    if up:
        rest = [b for b in isr if b not in up]
        state = f"in-sync {runs_but(up, case)}"
        state += f"; {brokers_named(rest)} of the ISR {are(len(rest))} dead" if rest else ""
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"ISR on {brokers_named(isr)}" if isr else "empty ISR",
        summary=f"{per_topic(tps)} {has(topics(tps))} no leader: {state}. "
        f"{brokers_named(alive).capitalize()} {are(len(alive))} alive, but out of sync",
        cause=_cause(isr, case),
        evidence=(
            *rows_of(case, tps[:SHOWN], state_row, view_rows, assignment_row, log_end_row),
            *live_row(case),
        ),
        blocked=blocked(case, tps),
        remedies=tuple(_remedies(isr, tps, case)),
        never=(
            NEVER_UNCLEAN_CONFIG,
            (
                "Do not delete or re-create the topic, and do not trigger an unclean election: "
                f"{brokers_named(up)} {has(len(up))} all records"
                if up
                else "Do not delete or re-create the topic, and do not start the dead broker with an empty disk: the "
                "others would truncate to it"
            ),
        ),
        partitions=tuple(tps),
        follows=explained_by(isr, case),
    )


def _cause(isr: tuple[int, ...], case: CaseFile) -> Cause:
    if not isr:
        return Cause("the ISR is empty, so no replica is known to have every record", Confidence.CERTAIN)
    if up := running(isr, case):
        return Cause(f"the ISR had shrunk to {ids(isr)}, and {runs_but(up, case)}", Confidence.CERTAIN)
    when = left_ago(isr, case)
    return Cause(f"the ISR had shrunk to {ids(isr)} before {brokers_named(isr)} left{when}", Confidence.CERTAIN)


def _remedies(isr: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> Iterator[Remedy]:
    if up := running(isr, case):
        they = "It is" if len(up) == 1 else "They are"
        then = f"{they} in sync: once that is repaired, a leader is elected and no record is lost"
        yield find_out_why(up, case, then)
        if rest := [b for b in isr if b not in up]:
            yield starts(Remedy(f"Or {continued(start_any(rest, case.frozen))}, which is in sync, too"), rest)
        return
    if isr:
        text = f"{start_any(isr, case.frozen)}. It is in sync, so no data is lost"
        yield starts(runbook(case, "isr-dead", text), isr)
    elected = [tp for tp in tps if case.unclean_winner(tp) is not None]
    for tp in elected[:SHOWN]:
        yield unclean_election(f"Only if no in-sync replica can ever come back: {_unclean(tp, case)}")
    if len(elected) > SHOWN:
        yield unclean_election(f"The same applies to {several(len(elected) - SHOWN, 'more partition')}, one by one")
    yield from save_from_disk(tps, isr)
    if elected:  # otherwise every live replica is in a failed log directory (KFX406)
        yield unclean_runbook(tps, case, "Last resort", "the runbook asks for confirmation of each unclean election")


def _unclean(tp: TopicPartition, case: CaseFile) -> str:
    """Returns what an unclean election would do: no member of the ISR is alive, some assigned replica is."""
    winner = case.unclean_winner(tp)
    ends = {b: e.end for b, e in case.log_ends(tp).items() if b in (case.live or ())}
    text = f"an unclean election of {tp} makes broker {winner} leader (the first live replica in the assignment)"
    if winner not in ends:
        return f"{text}. How many records are lost is unknown"
    best = max(ends, key=lambda b: (ends[b], b == winner))
    lacking = ends[best] - ends[winner]
    text += f", whose log ends at {ends[winner]}. It loses at least {several(lacking, 'record')}"
    only = f"every record that only {brokers_named(case.isr(tp))} held"
    if not lacking:
        return f"{text}, and {only}"
    return (
        f"{text} that broker {best} has (log end {ends[best]}), and {only}. "
        f"Broker {best} would not win: put it first in the assignment"
    )
