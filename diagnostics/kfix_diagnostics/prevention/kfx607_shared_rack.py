"""KFX607 shared-rack: several replicas of a partition are in the same rack.

Why it matters
    The loss of that rack takes more than one copy at once. With three replicas, two of them in one rack, and
    min.insync.replicas=2, the loss of one zone blocks producers with acks=all although two zones are healthy.

How kfix knows
    Fewer racks than replicas, if the racks of all replicas are known and the cluster has more than one. It is advice if
    there are more replicas than racks, because then it is unavoidable. All replicas of a topic in one rack is KFX305;
    for an internal topic it is reported here.

Remedies, safest first
    A reassignment over the racks, if there are enough racks. Otherwise add a rack, or plan for the loss of one zone as
    the loss of several copies.

Do not
    Do not lower the replication factor to the number of racks. Do not move everything at once.

Sources
    Kafka: KIP-36. Two racks cannot each hold a majority: with two zones one of them always holds two of three copies.
    See docs/facts/defaults.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfPartitions, Rows
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.wording import per_topic, several
from kfix_diagnostics._advice import runbook
from kfix_diagnostics.prevention._prevention import NEVER_AT_ONCE, how_many, largest, tps_of, worst_rows


@RiskOfPartitions(
    rows="racks_known and cluster_racks > 1 and n_replicas > n_racks and (n_racks > 1 or internal)"
    " and not reassigning and not deleting",
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    spreadable = tuple(row for row in rows if row.n_racks < min(row.n_replicas, row.cluster_racks))
    if spreadable:
        yield _spread(spreadable, case)
    full = tuple(row for row in rows if row.n_racks >= row.cluster_racks)
    for factor in sorted({row.n_replicas for row in full}):
        yield _too_few(factor, tuple(row for row in full if row.n_replicas == factor), case)


def _spread(rows: Rows, case: CaseFile) -> Finding:
    tps, topic = tps_of(rows), largest(rows, case)
    return Finding(
        obj="avoidable",
        summary=f"replicas of {how_many(rows)} share a rack although there are {rows[0].cluster_racks} racks: "
        f"{per_topic(tps)}",
        cause=Cause("the topics were created or moved without regard to racks"),
        evidence=(*worst_rows(rows, "assignment", "a shared rack"), _racks(case)),
        remedies=(
            runbook(
                case,
                "spread-replicas",
                f"Reassign them over the racks with as few moves as possible, topic by topic, beginning with {topic}",
                f"topic={topic}",
            ),
        ),
        never=(NEVER_AT_ONCE,),
        partitions=tps,
    )


def _too_few(factor: int, rows: Rows, case: CaseFile) -> Finding:
    tps = tps_of(rows)
    racks = several(rows[0].cluster_racks, "rack")
    return Finding(
        severity=Severity.INFO,
        obj=f"replication factor {factor}",
        summary=f"one rack holds several copies of {how_many(rows)}: {several(factor, 'replica')} over {racks}: "
        f"{per_topic(tps)}",
        cause=Cause(f"the cluster has {racks}", Confidence.CERTAIN),
        evidence=(*worst_rows(rows, "assignment", several(factor, "replica")), _racks(case)),
        remedies=(
            Remedy("Add brokers in one more rack, or plan for the loss of a rack as the loss of several copies"),
        ),
        never=("Do not lower the replication factor to the number of racks",),
        partitions=tps,
    )


def _racks(case: CaseFile) -> Evidence:
    members = grouped((rack, broker) for broker, rack in sorted(case.racks.items()))
    said = "; ".join(
        f"{case.rack_named(rack)}: {', '.join(map(str, brokers))}" for rack, brokers in sorted(members.items())
    )
    return Evidence("brokers", "broker.rack", said)
