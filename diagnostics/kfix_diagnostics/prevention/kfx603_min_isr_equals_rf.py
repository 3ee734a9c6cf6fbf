"""KFX603 min-isr-equals-rf: every replica must be in sync, so no broker can be taken down.

Why it matters
    If min.insync.replicas equals the replication factor, one broker that restarts, lags or dies blocks every producer
    with acks=all. Rolling restarts become outages, and tools that respect min.insync.replicas refuse them.

How kfix knows
    The value in force against the number of replicas, both above 1, while no reassignment is under way. A value above
    the number of replicas is not a latent risk: producers fail already (KFX301).

Remedies, safest first
    Add one replica, or, if there are three or more replicas, lower min.insync.replicas by one, which moves no data.

Do not
    Do not lower it to 1 for maintenance: from then on one copy is enough for an acknowledgement. Do not take a broker
    down for maintenance before this is fixed.

Sources
    Kafka 2.7.1: a produce request with acks=all to an ISR below min.insync.replicas fails with NOT_ENOUGH_REPLICAS.
    Strimzi and Cruise Control refuse to restart brokers of such partitions. See docs/facts/defaults.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfPartitions, Rows
from kfix.core.diagnosis.finding import Cause, Confidence, Finding, Remedy
from kfix.core.wording import per_topic, several
from kfix_diagnostics._advice import runbook
from kfix_diagnostics.prevention import _prevention as shared


@RiskOfPartitions(rows="min_isr > 1 and min_isr == n_replicas and not reassigning and not deleting")
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    for factor in sorted({row.n_replicas for row in rows}):
        yield _tight(factor, tuple(row for row in rows if row.n_replicas == factor), case)


def _tight(factor: int, rows: Rows, case: CaseFile) -> Finding:
    tps = shared.tps_of(rows)
    return Finding(
        obj=f"replication factor {factor}",
        summary=f"one broker down blocks producers with acks=all of {shared.how_many(rows)}: {shared.MIN_ISR} requires "
        f"all {several(factor, 'replica')} to be in sync: {per_topic(tps, counted=True)}",
        cause=Cause(f"{shared.MIN_ISR} leaves no replica to spare", Confidence.CERTAIN),
        evidence=(
            *shared.worst_rows(rows, "topic settings", f"{shared.MIN_ISR} requires {factor}"),
            *shared.setting_rows(case.settings(shared.MIN_ISR), shared.MIN_ISR),
        ),
        remedies=tuple(_remedies(factor, rows, case)),
        never=(f"Do not lower {shared.MIN_ISR} to 1 for maintenance", shared.NEVER_ALTER),
        partitions=tps,
        # Too few replicas are the cause, where they are reported.
        follows=() if all(row.internal for row in rows) else (f"KFX601:replication factor {factor}",),
    )


def _remedies(factor: int, rows: Rows, case: CaseFile) -> Iterator[Remedy]:
    if factor > case.criteria.expected.min_isr:
        text = f"Lower {shared.MIN_ISR} to {factor - 1}, topic by topic, beginning with {shared.largest(rows, case)}"
        yield shared.durable_defaults(rows, shared.largest(rows, case), factor - 1, text, case)
    if shared.n_brokers(case) <= factor:
        yield Remedy(
            f"Add a broker, then a replica: {shared.n_brokers(case)} brokers cannot hold {factor + 1} replicas of a "
            "partition"
        )
        return
    plain = tuple(row for row in rows if not row.internal)
    name, topic = (
        ("raise-topic-rf", shared.largest(plain, case)) if plain else ("raise-offsets-rf", shared.largest(rows, case))
    )
    text = f"Raise the replication factor to {factor + 1} by a reassignment, topic by topic, beginning with {topic}"
    yield runbook(case, name, text, f"topic={topic}", f"rf={factor + 1}")
