"""KFX805 zookeeper-node: a ZooKeeper server has no quorum or does not respond.

Why it matters
    Clients do not notice while the majority stands: they use the other servers. If one more server is lost, nothing in
    Kafka can change any more. A server without a quorum that serves read-only returns stale data.

How kfix knows
    kfix asks every server of the ensemble (`srvr`) for its mode and last transaction, and compares them.

Remedies, safest first
    Repair the network between this server and the others, or start it. It joins again by itself, in up to 17 s.

Do not
    Do not restart the servers that serve: they are the quorum. Do not change anything in Kafka.

Sources
    ZooKeeper 3.5.9 and 3.9.3: without a quorum `srvr` answers "not currently serving requests", `ruok` still imok. A
    server that was read-only can lose sessions: then restart it. See docs/facts/network-partitions.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows, Scope
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy
from kfix.core.snapshot.snapshot import ZooKeeperNode
from kfix.core.wording import are, several
from kfix_diagnostics._explained import key_of
from kfix_diagnostics.network._cut import vantage_rows


@ClusterCheck(scope=Scope.ZOOKEEPER)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    serving = [node for node in case.ensemble if node.serves]
    failed = [node for node in case.ensemble if not (node.serves or node.refuses)]
    if not serving or not failed:
        return
    voters = len(case.ensemble)
    spare = len(serving) - (voters // 2 + 1)
    for node in failed:
        yield _without_quorum(case, node, spare, tuple(serving))


def _without_quorum(case: CaseFile, node: ZooKeeperNode, spare: int, serving: tuple[ZooKeeperNode, ...]) -> Finding:
    quorum = node.without_quorum
    voters = several(len(case.ensemble), "server")
    what = "has no quorum" if quorum else "does not respond"
    left = "losing one more stops the ensemble" if spare <= 0 else f"the ensemble can lose {spare} more"
    return Finding(
        obj=f"zookeeper {node.address}",
        summary=f"zookeeper {node.address} {what}; {len(serving)} of {voters} {are(len(serving))} serving; {left}",
        cause=Cause(
            "it is cut off from the other servers" if quorum else "it is dead, or cut off from kfix",
            Confidence.LIKELY if quorum else Confidence.POSSIBLE,
        ),
        evidence=(
            *(
                Evidence(f"zookeeper {each.address}", "srvr", _said(each))
                for each in sorted(case.ensemble, key=lambda n: n.address)
            ),
            *vantage_rows(case),
        ),
        remedies=(
            Remedy(
                f"Repair the network between zookeeper {node.address} and the other servers. It then joins by itself"
                if quorum
                else f"Start zookeeper {node.address}, or repair the network between it and kfix"
            ),
            Remedy("If it does not join although the network is healthy: restart this one server"),
        ),
        never=("Do not restart the servers that serve: they are the quorum",),
        follows=(key_of(case.cut),) if case.cut is not None and _same_host(case, node) else (),
    )


def _same_host(case: CaseFile, node: ZooKeeperNode) -> bool:
    """Returns whether it is on the host of a broker that is cut off, and so part of the same cut."""
    cut = case.cut
    host = node.address.rpartition(":")[0]
    return cut is not None and host in {case.address(b).rpartition(":")[0] for b in cut.brokers}


def _said(node: ZooKeeperNode) -> str:
    zxid = f", zxid 0x{node.zxid:x}" if node.zxid >= 0 else ""
    return f"{node.mode or 'no mode'}{zxid}" + (f" ({node.error})" if node.error else "")
