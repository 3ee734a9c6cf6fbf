"""KFX616 acks-unseen: a cluster does not show whether producers wait for all replicas.

Why it matters
    Replication protects only records that all in-sync replicas have acknowledged. With acks=1 a leader acknowledges a
    record that may be lost with it in the next second, and with acks=0 no broker acknowledges anything. Three replicas
    and min.insync.replicas=2 do nothing for either.

How kfix knows
    It does not, and no tool can: acks is a field of each produce request and is stored nowhere. Reported once for a
    cluster that holds any partition, so that a clean report is not taken for more than it is.

Remedies, safest first
    Ask the owners of the producers, or check their settings: acks=all and enable.idempotence=true, which are the
    defaults of the Java client since 3.0, not before; librdkafka has acks=all and no idempotence.

Do not
    Do not take a clean report for durable producers. Do not use retries without idempotence if duplicates matter.

Sources
    Kafka: KIP-679 (defaults of 3.0; idempotence really on since 3.0.1, 3.1.1 and 3.2.0, KAFKA-13598). Seen on 2.7.1
    with a zone cut off: 199 acknowledged records lost with acks=1, none with acks=all. See docs/facts/data-loss.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity


@RiskOfCluster(severity=Severity.INFO)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    if not case.any_partition:
        return
    yield Finding(
        severity=Severity.INFO,
        obj="producers",
        summary="the cluster does not show whether producers use acks=all. Ask their owners",
        cause=Cause("acks is part of each produce request and stored nowhere", Confidence.CERTAIN),
        evidence=(Evidence("cluster", "acks of producers", "no source shows it"),),
        remedies=(
            Remedy("Let producers use acks=all and enable.idempotence=true, the defaults of the Java client since 3.0"),
        ),
        never=("Do not conclude from a report without findings that producers are durable",),
    )
