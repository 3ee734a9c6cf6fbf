"""KFX103 isr-gone: no leader, every replica in sync is dead, and only replicas that are out of sync are alive.

Why it matters
    The partition stays down by design: the live replicas may lack records that were acknowledged. With acks=all too,
    once the isr had shrunk to one replica and min.insync.replicas is 1.

How kfix knows
    No member of the isr is registered, at least one other assigned replica is. The log end of each live replica is
    asked of that replica itself, which works without a leader.

What helps
    Start a member of the isr: nothing is lost. Only if none can come back, an unclean election. Its winner is the
    first live replica in assignment order, not the one with the longest log: put the best one first by a reassignment
    of the same replicas, then elect. What the winner lacks is lost; the dead leader may have held more than anybody
    alive can know, so every figure is "at least". Restart clients that use transactions afterwards.

What not to do
    Do not set unclean.leader.election.enable on the topic, do not delete or re-create the topic, do not start the dead
    broker with an empty disk: it would be in sync with nothing and the others would truncate to it.

Sources
    Kafka 2.7.1: Election.scala, PartitionStateMachine.collectUncleanLeaderElectionState. On a real cluster assignment
    [1,2,3] with log ends 50 (broker 2) and 100 (broker 3) elected broker 2 and threw away 50 records.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import PartitionCheck, Rows
from kfix.derive.naming import brokers_named
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics._advice import NEVER_UNCLEAN_CONFIG, blocked, runbook
from kfix_diagnostics._evidence import assignment_row, live_row, log_end_row, state_row, view_rows
from kfix_diagnostics._explained import explained_by
from kfix_diagnostics._words import ago, count, either, has, ids, per_topic

CODE = "KFX103"
SHOWN = 3


def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    by_isr: dict[tuple[int, ...], list[TopicPartition]] = {}
    for row in rows:
        by_isr.setdefault(tuple(sorted(case.isr(row.tp))), []).append(row.tp)
    for isr, tps in by_isr.items():
        yield _gone(isr, tps, case)


def _gone(isr: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> Finding:
    alive = sorted({b for tp in tps for b in case.among_live(case.assignment(tp).replicas)})
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL,
        obj=f"isr on {brokers_named(isr)}" if isr else "empty isr",
        summary=f"{per_topic(tps)} {has(len(tps))} no leader: the whole isr {ids(isr)} is dead; "
        f"{brokers_named(alive)} {'lives' if len(alive) == 1 else 'live'}, out of sync",
        cause=_cause(isr, case),
        evidence=_evidence(tps, case),
        blocked=blocked(case, tps),
        remedies=tuple(_remedies(isr, tps, case)),
        never=(
            NEVER_UNCLEAN_CONFIG,
            (
                "do not delete or re-create the topic; do not start the dead broker with an empty disk: the others "
                "would truncate to it"
            ),
        ),
        partitions=tuple(tps),
        follows=explained_by(isr, case),
    )


def _cause(isr: tuple[int, ...], case: CaseFile) -> Cause:
    if not isr:
        return Cause("the isr is empty; a broker that is eligible (ELR) may still hold everything", Confidence.POSSIBLE)
    left = [age for b in isr if (age := case.gone_for(b)) is not None]
    when = f" about {ago(max(left))} ago" if left else ""
    return Cause(f"the isr had shrunk to {ids(isr)} before {brokers_named(isr)} left{when}", Confidence.CERTAIN)


def _evidence(tps: list[TopicPartition], case: CaseFile) -> tuple[Evidence, ...]:
    found: list[Evidence] = []
    for tp in tps[:SHOWN]:
        found += [*state_row(case, tp), *view_rows(case, tp), *assignment_row(case, tp), *log_end_row(case, tp)]
    return (*found, *live_row(case))


def _remedies(isr: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> Iterator[Remedy]:
    if isr:
        yield runbook(case, "isr-dead", f"start {either(isr)}: it is in sync, nothing is lost")
    for tp in tps[:SHOWN]:
        yield Remedy(f"only if that can never be: {_unclean(tp, case)}")
    if len(tps) > SHOWN:
        yield Remedy(f"the same for {count(len(tps) - SHOWN, 'partition')} more, one by one")
    yield runbook(
        case, "unclean-election", "the last resort, typed for each partition; any loss is accepted by -1", "max_loss=-1"
    )


def _unclean(tp: TopicPartition, case: CaseFile) -> str:
    """The one place that speaks of an unclean election: no member of the isr lives, some assigned replica does."""
    winner = case.unclean_winner(tp)
    ends = {b: e.end for b, e in case.log_ends(tp).items() if b in (case.live or ())}
    text = f"an unclean election of {tp} makes broker {winner} leader (first live one in the assignment)"
    if winner not in ends:
        return f"{text}; what is lost is not known: >= 0 records"
    best = max(ends, key=lambda b: (ends[b], b == winner))
    lacking = ends[best] - ends[winner]
    text += f", whose log ends at {ends[winner]}; lost are >= {lacking} records"
    if lacking:
        text += f": broker {best} has them (log end {ends[best]}) and would not win; put it first in the assignment"
    return f"{text} and all that only {brokers_named(case.isr(tp))} held"


CHECK = PartitionCheck(
    code=CODE,
    slug="isr-gone",
    title="no leader: the whole isr is dead, only replicas out of sync live",
    severity=Severity.CRITICAL,
    rows="leaderless and n_live_isr == 0 and n_live_replicas > 0 and not deleting",
    describe=describe,
)
