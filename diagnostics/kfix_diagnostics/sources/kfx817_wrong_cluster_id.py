"""KFX817 wrong-cluster-id: an address given for this cluster belongs to another cluster.

Why it matters
    Clients with such a list of bootstrap servers connect to one cluster or the other, by chance. A broker whose disk
    was formatted with another cluster id never joins; started as a cluster of its own at its old address, it attracts
    the clients that bootstrap there, which find none of their topics and may write to new ones.

How kfix knows
    Every broker reports the id of its cluster with its metadata, and every controller (Kafka 3.7 and later) at its own
    listener. kfix reads the cluster that most of the bootstrap servers belong to, or else the cluster of the first
    server that answers, and nothing from the others: two clusters are never mixed in one record. The address of a
    broker that is missing here is known from the quorum (Kafka 4.0 and later), or from an earlier snapshot.

Remedies, safest first
    If the address belongs to a broker of this cluster: stop the process there and start the broker with its own disk
    and settings. Find out first whether clients have written there. Otherwise correct the list of bootstrap servers or
    controllers, in the clients as well.

Do not
    Do not edit cluster.id in meta.properties: the log directories hold the partitions of the other cluster.

Sources
    Kafka 2.7.1, 3.9.2 and 4.3.1: Metadata and DescribeCluster. A broker with the disk of one cluster and the settings
    of another one serves neither, so it is only reported as missing (KFX401), and only its log shows why: with
    ZooKeeper it ends, since its meta.properties has another cluster.id; on KRaft it runs on, refused with
    INCONSISTENT_CLUSTER_ID. See docs/facts/kraft.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Remedy
from kfix.core.wording import are, brokers_named, were
from kfix_diagnostics._advice import start
from kfix_diagnostics._bans import starts


@ClusterCheck(debounce=Debounce.NONE)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    clusters = grouped((cluster, address) for address, cluster in sorted(case.snapshot.foreign.items()))
    for cluster, addresses in sorted(clusters.items()):
        yield _finding(cluster, addresses, case)


def _finding(cluster: str, addresses: list[str], case: CaseFile) -> Finding:
    own = case.snapshot.cluster.id
    given = ", ".join(addresses)
    strayed = tuple(b for b, (where, _) in sorted(case.strayed.items()) if where in addresses)
    whose = ""
    if strayed:
        whose = f", the address{'' if len(strayed) == 1 else 'es'} of {brokers_named(strayed)},"
    return Finding(
        obj=f"cluster {cluster}",
        summary=f"{given}{whose if len(strayed) == len(addresses) else ''} "
        f"{'belongs' if len(addresses) == 1 else 'belong'} to another cluster, {cluster}. Everything else here "
        f"belongs to cluster {own}; nothing from the other one was used",
        cause=_cause(strayed, case),
        evidence=tuple(Evidence(address, "cluster id", cluster) for address in addresses),
        remedies=tuple(_remedies(strayed, cluster, addresses, case)),
        never=("Do not edit cluster.id in meta.properties: the disk holds the partitions of the other cluster",),
    )


def _cause(strayed: tuple[int, ...], case: CaseFile) -> Cause:
    if strayed:
        its = "an empty disk or with the settings" if len(strayed) == 1 else "empty disks or with the settings"
        return Cause(f"{brokers_named(strayed)} {were(len(strayed))} started with {its} of another cluster")
    text = "the list of servers names two clusters, or the disk of a server was formatted with another cluster id"
    if unplaced := [b for b in case.dead if not case.address(b)]:
        text += f". {brokers_named(unplaced)} {are(len(unplaced))} missing here, and may have been started there"
    return Cause(text)


def _remedies(strayed: tuple[int, ...], cluster: str, addresses: list[str], case: CaseFile) -> Iterator[Remedy]:
    own, given = case.snapshot.cluster.id, ", ".join(addresses)
    if strayed:
        settings = (
            "controller.quorum.voters or controller.quorum.bootstrap.servers" if case.kraft else "zookeeper.connect"
        )
        text = (
            f"{start(strayed, case)}: meta.properties there must have cluster.id={own}, and {settings} must name this "
            f"cluster. What clients have written to cluster {cluster} meanwhile is on the other disk only: keep it"
        )
        yield starts(Remedy(text), strayed)
        return
    yield Remedy(f"If cluster {own} is the one you mean: leave {given} out, also in the clients' bootstrap.servers")
    yield Remedy(f"If {given} should belong to cluster {own}: compare cluster.id in meta.properties on its disks")
