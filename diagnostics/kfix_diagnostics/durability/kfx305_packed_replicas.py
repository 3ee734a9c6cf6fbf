"""KFX305 packed-replicas: the replicas of a partition lie closer together than the cluster allows.

Why it matters
    The flaw is harmless until it bites: one rack lost, or two brokers, and partitions have no live replica although
    most of the cluster is healthy. It costs nothing to see it before.

How kfix knows
    All replicas in one rack where the racks of all of them are known and the cluster has more than one (warning), or
    fewer replicas than 3 where 3 brokers exist (advice). Internal topics have a finding of their own (KFX303).

What helps
    A reassignment that spreads the replicas over racks, or adds one. `kafka-topics --alter` cannot do it.

What not to do
    Do not move everything at once: set a throttle, move in batches, and take the throttle off afterwards.

Sources
    Kafka: KIP-36 (rack awareness acts only when topics are created with racks set on all brokers).
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import Debounce, PartitionCheck, Rows
from kfix.derive.partition_facts import PartitionFacts
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Severity
from kfix_diagnostics._advice import runbook
from kfix_diagnostics._words import count, ids, per_topic

CODE = "KFX305"
NEVER = ("do not move everything at once: throttle, move in batches, take the throttle off afterwards",)


def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    by_rack: dict[str, list[PartitionFacts]] = {}
    by_factor: dict[int, list[PartitionFacts]] = {}
    for row in rows:
        if row.racks_known and row.n_racks == 1 and row.n_replicas > 1:
            rack = case.racks[case.assignment(row.tp).replicas[0]]
            by_rack.setdefault(rack, []).append(row)
        else:
            by_factor.setdefault(row.n_replicas, []).append(row)
    for rack, found in sorted(by_rack.items()):
        yield _one_rack(rack, found, case)
    for factor, found in sorted(by_factor.items()):
        yield _few(factor, found, case)


def _one_rack(rack: str, rows: list[PartitionFacts], case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    return Finding(
        code=CODE,
        severity=Severity.WARNING,
        obj=f"rack {rack}",
        summary=f"{per_topic(tps)}: all replicas are in rack {rack}, of {count(rows[0].cluster_racks, 'rack')}",
        cause=Cause("the topic was created or moved without regard to racks", Confidence.LIKELY),
        evidence=(_first(rows, case),),
        remedies=(runbook(case, "spread-replicas", "reassign them over the racks, with as few moves as can be"),),
        never=NEVER,
        partitions=tps,
    )


def _few(factor: int, rows: list[PartitionFacts], case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    lost = "one broker" if factor == 1 else "two brokers"
    return Finding(
        code=CODE,
        severity=Severity.INFO,
        obj=f"replication factor {factor}",
        summary=f"{per_topic(tps)}: {count(factor, 'replica')} where {rows[0].advised_rf} brokers exist; the loss of "
        f"{lost} can leave none",
        cause=Cause("the topic was created with this replication factor", Confidence.LIKELY),
        evidence=(_first(rows, case),),
        remedies=(
            runbook(
                case,
                "raise-topic-rf",
                f"raise the replication factor to {rows[0].advised_rf} by a reassignment, topic by topic",
                f"topic={tps[0].topic}",
                f"rf={rows[0].advised_rf}",
            ),
        ),
        never=NEVER,
        partitions=tps,
        # The same told as a breach of what the site demands, where that was asked for.
        follows=(f"KFX601:replication factor {factor}",),
    )


def _first(rows: list[PartitionFacts], case: CaseFile) -> Evidence:
    tp = rows[0].tp
    return Evidence("assignment", f"first of {len(rows)}: {tp}", f"replicas {ids(case.assignment(tp).replicas)}")


CHECK = PartitionCheck(
    code=CODE,
    slug="packed-replicas",
    title="replicas lie closer together than the cluster allows",
    severity=Severity.WARNING,
    rows="not internal and n_replicas > 0 and not reassigning and not deleting and (n_replicas < advised_rf"
    " or racks_known and n_racks == 1 and n_replicas > 1 and cluster_racks > 1)",
    describe=describe,
    debounce=Debounce.NONE,
)
