"""KFX107 leaderless-unjudged: no leader, and no source tells which brokers are alive.

Why it matters
    Whether one harmless election helps (a replica in sync lives) or nothing but a restart does (none lives) cannot be
    told from a pasted description: both look the same in it.

How kfix knows
    The text names no leader. Brokers that lead other partitions in the same text were alive when it was made.

What helps
    Ask the cluster itself: `kfix diagnose --bootstrap-server HOST:PORT`. Nothing should be changed on the strength of a
    text.

What not to do
    No unclean election: a replica in sync may be alive, and then a clean one is possible.

Sources
    Kafka 2.7.1: MetadataCache answers LEADER_NOT_AVAILABLE both for "no leader" and for "the leader is not alive".
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import PartitionCheck, Rows
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Severity
from kfix_diagnostics._advice import blocked, look_again
from kfix_diagnostics._evidence import assignment_row, state_row, view_words
from kfix_diagnostics._words import count, either, has, ids, per_topic

CODE = "KFX107"


def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    by_isr: dict[tuple[int, ...], Rows] = {}
    for row in rows:
        isr = tuple(sorted(case.isr(row.tp)))
        by_isr[isr] = (*by_isr.get(isr, ()), row)
    for isr, some_rows in by_isr.items():
        yield _unjudged(isr, some_rows, case)


def _unjudged(isr: tuple[int, ...], rows: Rows, case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    leading = [b for b in isr if case.leads.get(b)]
    seen = f"; {either(leading)} leads other partitions there, so it was alive" if leading else ""
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL,
        obj=f"isr {ids(isr)}",
        summary=f"{per_topic(tps)} {has(len(tps))} no leader; the text names isr {ids(isr)} but not who is alive{seen}",
        cause=_cause(isr, leading),
        evidence=tuple(_evidence(tps[0], case, len(tps))),
        blocked=blocked(case, tps),
        remedies=(look_again(case, "ask the cluster: who is registered, and what does each broker say"),),
        never=("no unclean election: a replica in sync may be alive, and then a clean election is possible",),
        partitions=tps,
    )


def _cause(isr: tuple[int, ...], leading: list[int]) -> Cause:
    if leading:
        return Cause(
            "a replica in sync seems to live and nobody elects it (KFX101, KFX102): a clean election would do",
            Confidence.POSSIBLE,
        )
    if isr:
        return Cause("the replicas in sync are dead (KFX103), or alive and not elected (KFX102)", Confidence.UNKNOWN)
    return Cause("the isr is empty: nothing more can be said from the text", Confidence.UNKNOWN)


def _evidence(tp: TopicPartition, case: CaseFile, among: int) -> Iterator[Evidence]:
    yield from state_row(case, tp)
    for view in case.views_of(tp).values():
        yield Evidence("text", f"{tp}", view_words(view))
    yield from assignment_row(case, tp)
    if among > 1:
        yield Evidence("text", "partitions like this one", count(among, "partition"))


CHECK = PartitionCheck(
    code=CODE,
    slug="leaderless-unjudged",
    title="no leader, and nobody tells which brokers are alive",
    severity=Severity.CRITICAL,
    rows="leaderless and not liveness_known and not deleting",
    describe=describe,
)
