"""KFX602 min-isr-below-policy: min.insync.replicas lets acknowledged records exist in one copy.

Why it matters
    With min.insync.replicas=1 a producer with acks=all gets its acknowledgement as soon as the leader alone has the
    record, if the followers have fallen out of the ISR. When that leader dies the partition is unavailable, or
    acknowledged records are lost. The replicas exist but protect nothing.

How kfix knows
    The value in force: the topic's own, otherwise the default of its leader. Below what is expected (2, or
    `expected_min_isr` of the inventory) if the partition has more than one replica. A setting that was not read is not
    judged.

Remedies, safest first
    Set it on the topic, or as the default of all brokers (KFX605), where every topic it applies to has more replicas
    than that. Topics with two replicas need a third one first.

Do not
    Do not set it at or above the replication factor: at it, one broker in maintenance blocks producers (KFX603); above
    it they fail at once, and so do the commits of groups if it is the offsets topic. It does not protect producers with
    acks=0 or 1, whatever its value.

Sources
    Kafka: min.insync.replicas is 1 by default. Kafka 2.7.1: NOT_ENOUGH_REPLICAS below it; with a broker default of 2
    and an offsets topic with one replica every group fails. See docs/facts/defaults.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfPartitions, Rows
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Cause, Confidence, Finding, Remedy
from kfix.core.wording import per_topic
from kfix_diagnostics._advice import runbook
from kfix_diagnostics.prevention import _prevention as shared


@RiskOfPartitions(rows="min_isr >= 0 and min_isr < expected_min_isr and n_replicas > 1 and not deleting")
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    kinds = {(row.topic, row.min_isr) for row in rows}
    defaults = {kind: shared.inherits(kind[0], shared.MIN_ISR, str(kind[1]), case) for kind in kinds}
    found = grouped(((row.min_isr, defaults[row.topic, row.min_isr]), row) for row in rows)
    for (value, default), same in sorted(found.items()):
        yield _low(value, tuple(same), case, default=default)


def _low(value: int, rows: Rows, case: CaseFile, *, default: bool) -> Finding:
    tps = shared.tps_of(rows)
    return Finding(
        obj=f"{shared.MIN_ISR} {value}{' by default' if default else ''}",
        summary=f"{shared.MIN_ISR} is {value} for {shared.how_many(rows)}, but {case.criteria.expected.min_isr} is "
        f"expected: {per_topic(tps, counted=True)}",
        cause=Cause(f"the brokers' default of {shared.MIN_ISR} is {value}", Confidence.CERTAIN)
        if default
        else Cause("it is set on the topics themselves"),
        evidence=(
            *shared.worst_rows(rows, "topic settings", f"{shared.MIN_ISR} {value}"),
            *shared.setting_rows(case.settings(shared.MIN_ISR), shared.MIN_ISR),
        ),
        remedies=tuple(_remedies(rows, case)),
        never=(shared.NEVER_ABOVE_RF, "Do not rely on it for producers with acks=0 or 1: it does not protect them"),
        partitions=tps,
        follows=(f"{shared.DEFAULTS_CODE}:{shared.MIN_ISR}",) if default else (),
    )


def _remedies(rows: Rows, case: CaseFile) -> Iterator[Remedy]:
    wanted = case.criteria.expected.min_isr
    fit = tuple(row for row in rows if row.n_replicas > wanted)
    tight = tuple(row for row in rows if row.n_replicas <= wanted)
    if fit:
        text = f"Set it to {wanted}, topic by topic, beginning with {shared.largest(fit, case)}"
        yield shared.durable_defaults(rows, shared.largest(fit, case), wanted, text, case)
    plain = tuple(row for row in tight if not row.internal)
    more = (
        f"Raise the replication factor of {shared.how_many(tight)} to {wanted + 1} first, then the setting"
        if tight
        else ""
    )
    if tight and shared.n_brokers(case) <= wanted:
        yield Remedy(f"{more}. This needs more brokers than the cluster has")
    elif plain:
        yield runbook(case, "raise-topic-rf", more, f"topic={shared.largest(plain, case)}", f"rf={wanted + 1}")
    elif tight:
        yield runbook(case, "raise-offsets-rf", more, f"topic={shared.largest(tight, case)}", f"rf={wanted + 1}")
