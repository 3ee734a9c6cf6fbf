"""KFX817 wrong-cluster-id: an address that was given for this cluster belongs to another one.

Why it matters
    Clients with such a list of bootstrap servers connect to one cluster or the other, by chance. A broker whose disk
    was formatted with another cluster id never joins; started as a cluster of its own at its old address, it takes the
    clients that begin there.

How kfix knows
    Every broker reports the id of its cluster with its metadata, and every controller (Kafka 3.7 and later) at its own
    listener. kfix reads the cluster of the bootstrap server that answers first, and nothing of the others: two clusters
    are never one record.

Remedies, safest first
    Correct the list of bootstrap servers or controllers, in the clients as well. If the address is that of a broker of
    this cluster: find out who formatted its disk again, and compare meta.properties in its log directories.

Do not
    Do not edit cluster.id in meta.properties: the log directories hold the partitions of the other cluster.

Sources
    Kafka 3.9.2 and 4.3.1: Metadata and DescribeCluster. See docs/facts/kraft.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics._words import are

CODE = "KFX817"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    clusters: dict[str, list[str]] = {}
    for address, cluster in sorted(case.snapshot.foreign.items()):
        clusters.setdefault(cluster, []).append(address)
    own = case.snapshot.cluster.id
    for cluster, addresses in sorted(clusters.items()):
        given = ", ".join(addresses)
        yield Finding(
            code=CODE,
            severity=Severity.WARNING,
            obj=f"cluster {cluster}",
            summary=f"{given} {are(len(addresses))} of another cluster, {cluster}. Everything else here is of cluster "
            f"{own}; nothing of the other one was used",
            cause=Cause(
                "the list of servers names two clusters, or the disk of a server was formatted with another cluster id",
                Confidence.LIKELY,
            ),
            evidence=tuple(Evidence(address, "cluster id", cluster) for address in addresses),
            remedies=(
                Remedy(
                    f"If cluster {own} is the one you mean: leave {given} out, also in the clients' bootstrap.servers"
                ),
                Remedy(f"If {given} should be of cluster {own}: compare cluster.id in meta.properties on its disks"),
            ),
            never=("Do not edit cluster.id in meta.properties: the disk holds the partitions of the other cluster",),
        )


CHECK = ClusterCheck(
    code=CODE,
    slug="wrong-cluster-id",
    title="an address that was given for this cluster belongs to another one",
    severity=Severity.WARNING,
    check=check,
    debounce=Debounce.NONE,
)
