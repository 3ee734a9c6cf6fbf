"""KFX303 internal-topic-rf1: an internal topic (offsets, transactions, share groups) has too few replicas.

Why it matters
    At replication factor 1 the death of one broker blocks every group, every transaction (__transaction_state), or
    every share group (__share_group_state, of Kafka 4) of the partitions on it, and only that broker can restore
    service (KFX104). The shipped server.properties sets 1, and the setting takes effect only when the topic is created.

How kfix knows
    The actual assignments of the topic, not the setting: fewer than 3 replicas, or fewer than there are brokers if
    there are fewer than 3.

Remedies, safest first
    A reassignment that raises the replication factor to 3: the current replica first, spread over racks, preferred
    leaders rotated so that not one broker coordinates all groups; afterwards min.insync.replicas.

Do not
    Do not delete the topic to have it re-created, and do not delete its logs: they hold all committed offsets.
    `kafka-topics --alter` cannot change a replication factor, although a widely copied recipe uses it.

Sources
    Kafka: KIP-115, config/server.properties; kafka-reassign-partitions. See docs/facts/defaults.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, Debounce, PartitionCheck, Rows
from kfix.core.derive.grouping import grouped
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Severity
from kfix.core.wording import brokers_named, has, several
from kfix_diagnostics._advice import runbook

SETTING = {
    "__consumer_offsets": "offsets.topic.replication.factor",
    "__transaction_state": "transaction.state.log.replication.factor",
    "__share_group_state": "share.coordinator.state.topic.replication.factor",
}


@PartitionCheck(
    rows="internal and n_replicas > 0 and n_replicas < advised_rf and replicas_agree "
    "and not reassigning and not deleting",
    debounce=Debounce.NONE,
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    for topic, found in grouped((row.topic, row) for row in rows).items():
        yield _few(topic, found, case)


def _few(topic: str, rows: list[PartitionFacts], case: CaseFile) -> Finding:
    least = min(row.n_replicas for row in rows)
    single = [row for row in rows if row.n_replicas == 1]
    places = sorted({b for row in single for b in case.assignment(row.tp).replicas})
    on = f", on {brokers_named(places)}" if single else ""
    partitions = several(len(rows), "partition")
    how_many = f"{len(single)} of them {has(len(single))} only one{on}" if single else f"the smallest number is {least}"
    return Finding(
        severity=Severity.WARNING if least == 1 else Severity.INFO,
        obj=f"topic {topic}",
        summary=f"{topic} has {partitions} with fewer than {rows[0].advised_rf} replicas; {how_many}",
        cause=Cause(f"{SETTING[topic]} was {least} when the topic was created; it takes effect only then"),
        evidence=tuple(_evidence(topic, rows, case)),
        remedies=(
            runbook(
                case,
                "raise-offsets-rf",
                f"Raise the replication factor to {rows[0].advised_rf} by a reassignment over racks with preferred "
                "leaders rotated. Afterwards raise min.insync.replicas",
                f"rf={rows[0].advised_rf}",
            ),
        ),
        never=(
            "Do not delete the topic or its logs: they hold all that groups and transactions have committed",
            "Do not try kafka-topics --alter: it cannot change a replication factor",
        ),
        partitions=tuple(row.tp for row in rows),
    )


def _evidence(topic: str, rows: list[PartitionFacts], case: CaseFile) -> Iterator[Evidence]:
    yield Evidence(
        "assignment",
        topic,
        f"{several(len(rows), 'partition')}, smallest number of replicas {min(r.n_replicas for r in rows)}",
    )
    for broker in sorted(case.views):
        value = case.setting(broker, SETTING[topic])
        if value:
            yield Evidence(f"broker {broker}", SETTING[topic], f"{value} (takes effect only at creation)")
