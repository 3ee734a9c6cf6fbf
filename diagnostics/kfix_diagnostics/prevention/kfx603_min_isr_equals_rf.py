"""KFX603 min-isr-equals-rf: every replica must be in sync, so no broker can be taken down.

Why it matters
    Where min.insync.replicas is the replication factor, one broker that restarts, lags or dies stops every producer
    with acks=all. Rolling restarts become outages, and tools that respect min.insync.replicas refuse them for ever.

How kfix knows
    The value in force against the number of replicas, both above 1, while no reassignment is under way. A value above
    the number of replicas is no matter of one day: producers fail already (KFX301).

What helps
    One replica more, or where there are three or more replicas: one less in min.insync.replicas, which moves no data.

What not to do
    Do not lower it to 1 to get through a maintenance: from then on one copy is enough for an acknowledgement. Do not
    take a broker down for maintenance before this is mended.

Sources
    Kafka 2.7.1: a produce with acks=all to an isr below min.insync.replicas fails with NOT_ENOUGH_REPLICAS. Strimzi
    and Cruise Control refuse to restart brokers of such partitions.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import Debounce, PartitionCheck, Rows
from kfix.model.diagnosis.finding import Cause, Confidence, Finding, Remedy, Severity
from kfix_diagnostics._advice import runbook
from kfix_diagnostics._words import per_topic
from kfix_diagnostics.prevention._prevention import (
    MIN_ISR,
    NEVER_ALTER,
    how_many,
    largest,
    n_brokers,
    setting_rows,
    tps_of,
    worst_rows,
)

CODE = "KFX603"


def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    for factor in sorted({row.n_replicas for row in rows}):
        yield _tight(factor, tuple(row for row in rows if row.n_replicas == factor), case)


def _tight(factor: int, rows: Rows, case: CaseFile) -> Finding:
    tps = tps_of(rows)
    return Finding(
        code=CODE,
        severity=Severity.WARNING,
        obj=f"replication factor {factor}",
        summary=f"{how_many(rows)}: {MIN_ISR} is {factor}, as many as there are replicas; one broker down stops "
        f"producers with acks=all: {per_topic(tps)}",
        cause=Cause(f"{MIN_ISR} equals the replication factor", Confidence.CERTAIN),
        evidence=(
            *worst_rows(rows, "topic settings", f"{MIN_ISR} {factor}"),
            *setting_rows(case.settings(MIN_ISR), MIN_ISR),
        ),
        remedies=tuple(_remedies(factor, rows, case)),
        never=(f"do not lower {MIN_ISR} to 1 to get through a maintenance", NEVER_ALTER),
        partitions=tps,
        # Too few replicas are the cause, where they are told.
        follows=() if all(row.internal for row in rows) else (f"KFX601:replication factor {factor}",),
    )


def _remedies(factor: int, rows: Rows, case: CaseFile) -> Iterator[Remedy]:
    if factor > case.expected.min_isr:
        text = f"lower {MIN_ISR} to {factor - 1}, topic by topic: first {largest(rows)}"
        yield runbook(case, "durable-defaults", text, f"topic={largest(rows)}", f"min_isr={factor - 1}")
    if n_brokers(case) <= factor:
        yield Remedy(
            f"add a broker, then a replica: {n_brokers(case)} cannot hold {factor + 1} replicas of a partition"
        )
        return
    plain = tuple(row for row in rows if not row.internal)
    name, topic = ("raise-topic-rf", largest(plain)) if plain else ("raise-offsets-rf", largest(rows))
    text = f"raise the replication factor to {factor + 1} by a reassignment, topic by topic: first {topic}"
    yield runbook(case, name, text, f"topic={topic}", f"rf={factor + 1}")


CHECK = PartitionCheck(
    code=CODE,
    slug="min-isr-equals-rf",
    title="every replica must be in sync, so no broker can be taken down",
    severity=Severity.WARNING,
    rows="min_isr > 1 and min_isr == n_replicas and not reassigning and not deleting",
    describe=describe,
    debounce=Debounce.NONE,
    prevention=True,
)
