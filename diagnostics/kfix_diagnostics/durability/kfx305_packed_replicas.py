"""KFX305 packed-replicas: replicas could be spread over more racks or brokers.

Why it matters
    The flaw is harmless until one rack or two brokers fail: then partitions have no live replica although most of the
    cluster is healthy. Finding it beforehand costs nothing.

How kfix knows
    All replicas are in one rack while the racks of all of them are known and the cluster has more than one (warning),
    or there are fewer than 3 replicas although 3 brokers exist (advice). Internal topics have a finding of their own
    (KFX303).

Remedies, safest first
    A reassignment that spreads the replicas over racks, or adds one. `kafka-topics --alter` cannot do it.

Do not
    Do not move everything at once: set a throttle, move in batches, and remove the throttle afterwards.

Sources
    Kafka: KIP-36 (racks are considered only when a topic is created and all brokers have one). See
    docs/facts/defaults.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, Debounce, PartitionCheck, Rows
from kfix.core.derive.grouping import grouped
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Severity
from kfix.core.wording import has, ids, per_topic, several, topics
from kfix_diagnostics._advice import runbook

NEVER = ("Do not move everything at once: throttle, move in batches, and remove the throttle afterwards",)


@PartitionCheck(
    rows="not internal and n_replicas > 0 and replicas_agree and not reassigning and not deleting "
    "and (n_replicas < advised_rf or racks_known and n_racks == 1 and n_replicas > 1 and cluster_racks > 1)",
    debounce=Debounce.NONE,
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    packed = grouped((row.racks_known and row.n_racks == 1 and row.n_replicas > 1, row) for row in rows)
    racks = grouped((case.racks[case.assignment(row.tp).replicas[0]], row) for row in packed.get(True, ()))
    for rack, found in sorted(racks.items()):
        yield _one_rack(rack, found, case)
    for factor, found in sorted(grouped((row.n_replicas, row) for row in packed.get(False, ())).items()):
        yield _few(factor, found, case)


def _one_rack(rack: str, rows: list[PartitionFacts], case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    return Finding(
        obj=f"rack {rack}",
        summary=f"{per_topic(tps)} {has(topics(tps))} all replicas in rack {case.rack_named(rack)}, although there are "
        f"{rows[0].cluster_racks} racks",
        cause=Cause("the topic was created or moved without regard to racks"),
        evidence=(_first(rows, case),),
        remedies=(runbook(case, "spread-replicas", "Reassign them over the racks, with as few moves as possible"),),
        never=NEVER,
        partitions=tps,
    )


def _few(factor: int, rows: list[PartitionFacts], case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    topic = next((tp.topic for tp in tps if tp.topic not in case.hindered), tps[0].topic)
    bound = "at least " if case.live is None else ""
    lost = "one broker" if factor == 1 else f"{factor} brokers"
    return Finding(
        severity=Severity.INFO,
        obj=f"replication factor {factor}",
        summary=f"{per_topic(tps)} {has(topics(tps))} {several(factor, 'replica')} although there are {bound}"
        f"{several(len(case.assigned | (case.live or frozenset())), 'broker')}: the loss of {lost} can leave none",
        cause=Cause("the topic was created with this replication factor"),
        evidence=(_first(rows, case),),
        remedies=(
            runbook(
                case,
                "raise-topic-rf",
                f"Raise the replication factor to {rows[0].advised_rf} by a reassignment, topic by topic",
                f"topic={topic}",
                f"rf={rows[0].advised_rf}",
            ),
        ),
        never=NEVER,
        partitions=tps,
        # The same as a breach of the site's policy, where latent risks were asked for.
        follows=(f"KFX601:replication factor {factor}",),
    )


def _first(rows: list[PartitionFacts], case: CaseFile) -> Evidence:
    tp = rows[0].tp
    return Evidence(
        "assignment",
        f"{tp}, first of {several(len(rows), 'partition')}",
        f"replicas {ids(case.assignment(tp).replicas)}",
    )
