"""KFX303 internal-topic-rf1: __consumer_offsets or __transaction_state has too few replicas.

Why it matters
    At replication factor 1 the death of one broker stops every group, or every transaction, whose partition lies there;
    nothing but that broker helps then (KFX104). The shipped server.properties sets 1, and the setting acts only when
    the topic is first created.

How kfix knows
    The actual assignments of the topic, not the setting: fewer than 3 replicas, or fewer than there are brokers where
    there are less than 3.

What helps
    A reassignment that raises the replication factor to 3: the current replica first, spread over racks, preferred
    leaders rotated so that not one broker coordinates everything; afterwards min.insync.replicas.

What not to do
    Do not delete the topic to have it re-created, do not delete its logs: all committed offsets are in there.
    `kafka-topics --alter` cannot change a replication factor, whatever a widely copied recipe says.

Sources
    Kafka: KIP-115, config/server.properties; kafka-reassign-partitions.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import Debounce, PartitionCheck, Rows
from kfix.derive.naming import brokers_named
from kfix.derive.partition_facts import PartitionFacts
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Severity
from kfix_diagnostics._advice import runbook
from kfix_diagnostics._words import count

CODE = "KFX303"
SETTING = {
    "__consumer_offsets": "offsets.topic.replication.factor",
    "__transaction_state": "transaction.state.log.replication.factor",
}


def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    by_topic: dict[str, list[PartitionFacts]] = {}
    for row in rows:
        by_topic.setdefault(row.topic, []).append(row)
    for topic, found in by_topic.items():
        yield _few(topic, found, case)


def _few(topic: str, rows: list[PartitionFacts], case: CaseFile) -> Finding:
    least = min(row.n_replicas for row in rows)
    single = [row for row in rows if row.n_replicas == 1]
    places = sorted({b for row in single for b in case.assignment(row.tp).replicas})
    on = f" on {brokers_named(places)}" if single else ""
    how_many = f"{len(single)} of them have one replica only{on}" if single else f"they have {least} replicas"
    return Finding(
        code=CODE,
        severity=Severity.WARNING if least == 1 else Severity.INFO,
        obj=f"topic {topic}",
        summary=f"{topic}: {count(len(rows), 'partition')} with fewer than {rows[0].advised_rf} replicas; {how_many}",
        cause=Cause(
            f"{SETTING[topic]} was {least} when the topic was first created; it acts only then", Confidence.LIKELY
        ),
        evidence=tuple(_evidence(topic, rows, case)),
        remedies=(
            runbook(
                case,
                "raise-offsets-rf",
                f"raise the replication factor to {rows[0].advised_rf} by a reassignment, over racks, preferred "
                "leaders rotated; afterwards min.insync.replicas",
                f"rf={rows[0].advised_rf}",
            ),
        ),
        never=(
            "do not delete the topic or its logs: all committed offsets or open transactions are in there",
            "kafka-topics --alter cannot change a replication factor",
        ),
        partitions=tuple(row.tp for row in rows),
    )


def _evidence(topic: str, rows: list[PartitionFacts], case: CaseFile) -> Iterator[Evidence]:
    yield Evidence(
        "assignment", topic, f"least replicas {min(r.n_replicas for r in rows)} in {count(len(rows), 'row')}"
    )
    for broker in sorted(case.views):
        value = case.setting(broker, SETTING[topic])
        if value:
            yield Evidence(f"broker {broker}", SETTING[topic], f"{value} (acts only at creation)")


CHECK = PartitionCheck(
    code=CODE,
    slug="internal-topic-rf1",
    title="offsets or transaction topic has too few replicas",
    severity=Severity.WARNING,
    rows="internal and n_replicas > 0 and n_replicas < advised_rf and not reassigning and not deleting",
    describe=describe,
    debounce=Debounce.NONE,
)
