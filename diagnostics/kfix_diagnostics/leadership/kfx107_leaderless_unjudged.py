"""KFX107 leaderless-unjudged: no leader, and no source shows which brokers are alive.

Why it matters
    A pasted description cannot show whether one harmless election helps (an in-sync replica is alive) or only a restart
    does (none is alive): it is the same in both cases.

How kfix knows
    The text names no leader. Brokers that lead other partitions in the same text were alive when it was made.

Remedies, safest first
    Diagnose the cluster itself: `kfix diagnose --bootstrap-server HOST:PORT`. Change nothing on the strength of a text.

Do not
    Do not trigger an unclean election: an in-sync replica may be alive, and then a clean one is possible.

Sources
    Kafka 2.7.1: MetadataCache answers LEADER_NOT_AVAILABLE both for "no leader" and for "the leader is not alive". See
    docs/facts/metadata.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import PartitionCheck, Rows
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Severity
from kfix.wording import brokers_named, several
from kfix_diagnostics._advice import blocked, diagnose_again
from kfix_diagnostics._evidence import assignment_row, state_row, view_words
from kfix_diagnostics._words import has, ids, per_topic

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
    seen = ""
    if leading:
        they_were = "it was" if len(leading) == 1 else "they were"
        seen = f". {brokers_named(leading).capitalize()} led other partitions in it, so {they_were} alive then"
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL,
        obj=f"ISR {ids(isr)}",
        summary=f"{per_topic(tps)} {has(len(tps))} no leader. Broker liveness is unknown: the text shows ISR "
        f"{ids(isr)} but not which brokers are alive{seen}",
        cause=_cause(isr, leading),
        evidence=tuple(_evidence(tps[0], case, len(tps))),
        blocked=blocked(case, tps),
        remedies=(
            diagnose_again(
                case, "Diagnose the cluster itself, which shows which brokers are registered and what each reports"
            ),
        ),
        never=(
            "Do not trigger an unclean election: an in-sync replica may be alive, and then a clean one is possible",
        ),
        partitions=tps,
    )


def _cause(isr: tuple[int, ...], leading: list[int]) -> Cause:
    if leading:
        return Cause(
            "an in-sync replica seems to be alive but was not elected (KFX101, KFX102): a clean election would help",
            Confidence.POSSIBLE,
        )
    if isr:
        return Cause("the in-sync replicas are dead (KFX103), or alive and not elected (KFX102)", Confidence.UNKNOWN)
    return Cause("the ISR is empty; the text shows nothing more", Confidence.UNKNOWN)


def _evidence(tp: TopicPartition, case: CaseFile, among: int) -> Iterator[Evidence]:
    yield from state_row(case, tp)
    for view in case.views_of(tp).values():
        yield Evidence("text", f"{tp}", view_words(view))
    yield from assignment_row(case, tp)
    if among > 1:
        yield Evidence("text", "partitions like this one", several(among, "partition"))


CHECK = PartitionCheck(
    code=CODE,
    slug="leaderless-unjudged",
    title="no leader, and broker liveness is unknown",
    severity=Severity.CRITICAL,
    rows="leaderless and not liveness_known and not deleting",
    describe=describe,
)
