"""KFX704 cluster-identity: two names refer to one cluster, or a name refers to a different cluster than before.

Why it matters
    A cluster that is counted twice hides one that is not counted at all: an address was copied, and the intended
    cluster is never audited. A name that has become another cluster was re-created, with all its data and offsets gone,
    or its address was changed; its history is then another cluster's.

How kfix knows
    The cluster id that Kafka gave itself at its first start (/cluster/id), against the other names of this run and
    against the previous audit.

Remedies, safest first
    Correct the address in the inventory; accept it once if the cluster was re-created on purpose.

Do not
    Do not carry out a plan for one of the names before it is clear which cluster it is; kfix refuses a plan of another
    cluster id by itself.

Sources
    Kafka: cluster id (KIP-78).
"""

from collections.abc import Iterator

from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Remedy
from kfix.core.fleetcase import FleetCase, FleetCheck
from kfix.core.wording import some


@FleetCheck()
def check(case: FleetCase) -> Iterator[tuple[str, Finding]]:
    known = ((digest.cluster_id, name) for name, digest in sorted(case.digests.items()) if digest.cluster_id)
    names = grouped(known)
    for cluster, same in names.items():
        for name in same if len(same) > 1 else ():
            others = [n for n in same if n != name]
            found = _finding(
                "two names",
                f"is the same cluster as {some(others)}: it is audited twice, and the intended cluster is not",
                "an address of the inventory was copied",
                cluster,
                "Give each name the address of its own cluster",
            )
            yield name, found
    for name, digest in sorted(case.digests.items()):
        before = case.previous_ids.get(name, "")
        if before and digest.cluster_id and before != digest.cluster_id:
            found = _finding(
                "another cluster",
                f"is a different cluster than in the previous audit: its id is {digest.cluster_id}, it was {before}",
                "it was re-created, or its address belongs to another cluster",
                digest.cluster_id,
                "Check whether it was re-created on purpose. If not, correct the address in the inventory",
            )
            yield name, found


def _finding(obj: str, summary: str, cause: str, cluster: str, remedy: str) -> Finding:
    return Finding(
        obj=obj,
        summary=summary,
        cause=Cause(cause),
        evidence=(Evidence("cluster", "cluster id", cluster),),
        remedies=(Remedy(remedy),),
        never=("Do not carry out a plan for one of these names before it is clear which cluster it is",),
    )
