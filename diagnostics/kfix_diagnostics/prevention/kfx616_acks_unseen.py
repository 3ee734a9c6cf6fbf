"""KFX616 acks-unseen: whether producers wait for all replicas cannot be seen from a cluster.

Why it matters
    All that replication protects is what was acknowledged by all replicas in sync. A producer with acks=1 is told
    "written" by a leader that may vanish in the next second with the record, and with acks=0 by nobody at all. Three
    replicas and min.insync.replicas=2 do nothing for either.

How kfix knows
    It does not, and nor does anyone else from outside: acks is a field of each produce request and is kept nowhere.
    Told once a cluster that holds any partition, so that a clean report is not taken for more than it says.

What helps
    Ask the owners of the producers, or look at their settings: acks=all and enable.idempotence=true, which are the
    defaults of the Java client since 3.0, not before; librdkafka has acks=all and no idempotence.

What not to do
    Do not take a clean report for durable producers. Do not use retries without idempotence where duplicates hurt.

Sources
    Kafka: KIP-679 (defaults of 3.0; idempotence really on since 3.0.1, 3.1.1 and 3.2.0, KAFKA-13598). Seen on 2.7.1
    with a zone cut off: 199 acknowledgements of acks=1 lost, of acks=all none.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity

CODE = "KFX616"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    if not case.any_partition:
        return
    yield Finding(
        code=CODE,
        severity=Severity.INFO,
        obj="producers",
        summary="whether producers use acks=all cannot be seen from the cluster: ask their owners",
        cause=Cause("acks is part of each produce request and kept nowhere", Confidence.CERTAIN),
        evidence=(Evidence("cluster", "acks of producers", "no source tells it"),),
        remedies=(
            Remedy("have producers use acks=all and enable.idempotence=true (defaults of the Java client since 3.0)"),
        ),
        never=("do not take a report without findings for durable producers",),
    )


CHECK = ClusterCheck(
    code=CODE,
    slug="acks-unseen",
    title="whether producers wait for all replicas cannot be seen from a cluster",
    severity=Severity.INFO,
    check=check,
    debounce=Debounce.NONE,
    prevention=True,
)
