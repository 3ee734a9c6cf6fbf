"""KFX617 one-controller: the KRaft quorum has fewer than three voters.

Why it matters
    Without an active controller no leader is elected when a broker dies, no ISR shrinks, no topic is created, and no
    broker that starts gets in (KFX811). With one voter the loss of one process is enough, and the loss of one disk
    loses the metadata of the whole cluster. With two voters, too, the loss of either is enough, since both are the
    majority; only the metadata is on two disks.

How kfix knows
    The active controller lists the voters of the quorum (DescribeQuorum).

Remedies, safest first
    Three controllers on three hosts. A dynamic quorum (KIP-853, Kafka 3.9) takes voters in while the cluster runs; a
    static one needs the same controller.quorum.voters on every node, and a restart of all of them.

Do not
    Do not add a voter before it has caught up as an observer. Do not run two voters: both have to be alive.

Sources
    Kafka 3.9.2 and 4.3.1 with one controller killed. See docs/facts/kraft.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows, Scope
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.wording import several, some

_TOO_FEW = (1, 2)


@RiskOfCluster(severity=Severity.INFO, scope=Scope.KRAFT)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    quorum = case.snapshot.quorum
    if quorum is None or len(quorum.voters) not in _TOO_FEW:
        return
    nodes = sorted(v.node for v in quorum.voters)
    alone = len(nodes) == 1
    yield Finding(
        severity=Severity.INFO,
        obj="controller quorum",
        summary=f"controller {nodes[0]} is the only voter of the quorum: without it no leader can be elected"
        if alone
        else f"controllers {some(nodes)} are the only voters of the quorum: without either no leader can be elected",
        cause=Cause(f"the cluster was set up with {several(len(nodes), 'voter')}", Confidence.CERTAIN),
        evidence=(Evidence(f"controller {quorum.leader}", "DescribeQuorum", several(len(nodes), "voter")),),
        remedies=(Remedy("Run three controllers on three hosts"),),
        never=("Do not run two voters: both would have to be alive",),
    )
