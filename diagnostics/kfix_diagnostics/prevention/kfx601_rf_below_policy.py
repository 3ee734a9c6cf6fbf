"""KFX601 rf-below-policy: topics have fewer replicas than the site requires.

Why it matters
    With one replica the death of one broker makes the topic unavailable, and the death of its disk loses it. With two,
    maintenance of one broker leaves a single copy, and min.insync.replicas cannot be 2 without blocking producers
    meanwhile.

How kfix knows
    The assignments, not the settings: fewer replicas than expected (3, or `expected_rf` of the inventory), while no
    reassignment is under way. The internal topics have a finding of their own (KFX303). All topics with the same number
    of replicas are one finding.

Remedies, safest first
    A reassignment that adds replicas, topic by topic, throttled; afterwards min.insync.replicas. If the cluster has
    fewer brokers than replicas are required: more brokers.

Do not
    `kafka-topics --alter` cannot change a replication factor. Do not raise min.insync.replicas before the replicas
    exist. Do not move everything at once.

Sources
    Kafka: kafka-reassign-partitions, default.replication.factor. The incidents offsets-rf1, isr-gone and
    packed-replicas of `kfix lab` show the consequences. See docs/facts/defaults.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfPartitions, Rows
from kfix.core.diagnosis.finding import Cause, Confidence, Finding, Remedy
from kfix.core.wording import has, per_topic, several
from kfix_diagnostics._advice import runbook
from kfix_diagnostics.prevention import _prevention as shared

DEFAULT = "default.replication.factor"


@RiskOfPartitions(
    rows="not internal and n_replicas > 0 and n_replicas < expected_rf and replicas_agree "
    "and not reassigning and not deleting",
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    for factor in sorted({row.n_replicas for row in rows}):
        yield _few(factor, tuple(row for row in rows if row.n_replicas == factor), case)


def _few(factor: int, rows: Rows, case: CaseFile) -> Finding:
    tps = shared.tps_of(rows)
    replicas, brokers = several(factor, "replica"), shared.n_brokers(case)
    return Finding(
        obj=f"replication factor {factor}",
        summary=f"{shared.how_many(rows)} {has(len(rows))} {replicas}, but {case.criteria.expected.rf} are expected: "
        f"{per_topic(tps, counted=True)}",
        cause=Cause(f"the cluster has only {several(brokers, 'broker')}", Confidence.CERTAIN)
        if brokers <= factor
        else Cause("the topics were created with this replication factor"),
        evidence=(
            *shared.worst_rows(rows, "assignment", replicas),
            *shared.setting_rows(case.settings(DEFAULT), DEFAULT),
        ),
        remedies=tuple(_remedies(factor, rows, case)),
        never=(shared.NEVER_ALTER, shared.NEVER_AT_ONCE),
        partitions=tps,
    )


def _remedies(factor: int, rows: Rows, case: CaseFile) -> Iterator[Remedy]:
    reachable = min(case.criteria.expected.rf, shared.n_brokers(case))
    if reachable < case.criteria.expected.rf:
        yield Remedy(
            f"Add brokers: {shared.n_brokers(case)} cannot hold {case.criteria.expected.rf} replicas of a partition"
        )
    if reachable > factor:
        topic = shared.largest(rows, case)
        text = f"Raise the replication factor to {reachable} by a reassignment, topic by topic, beginning with {topic}"
        yield runbook(case, "raise-topic-rf", text, f"topic={topic}", f"rf={reachable}")
