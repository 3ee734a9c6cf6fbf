"""KFX805 zookeeper-node: a ZooKeeper server has no quorum or does not answer, while the others serve.

Why it matters
    Nobody notices while the majority stands: clients move to the other servers. One more server lost, and nothing in
    Kafka can change any more. A server without a quorum that serves read-only gives old answers to whoever asks it.

How kfix knows
    Every server of the ensemble is asked by itself (`srvr`): mode and last transaction, compared with the others'.

What helps
    Mend the network between this server and the others, or start it. It joins again by itself, in up to 17 s.

What not to do
    Do not restart the servers that serve: they are the quorum. Nothing is to be done to Kafka.

Sources
    ZooKeeper 3.5.9 and 3.9.3: without a quorum `srvr` says "not currently serving requests", `ruok` still imok
    (kafka-facts J). A server that was read-only can forget sessions: then restart it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.model.cluster.snapshot import ZooKeeperNode
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics._explained import key_of
from kfix_diagnostics._words import count
from kfix_diagnostics.network._cut import vantage_rows

CODE = "KFX805"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    serving = [node for node in case.ensemble if node.serves]
    lame = [node for node in case.ensemble if not (node.serves or node.refuses)]
    if not serving or not lame:
        return
    voters = len(case.ensemble)
    spare = len(serving) - (voters // 2 + 1)
    for node in lame:
        yield _lame(case, node, spare, tuple(serving))


def _lame(case: CaseFile, node: ZooKeeperNode, spare: int, serving: tuple[ZooKeeperNode, ...]) -> Finding:
    quorum = node.without_quorum
    what = "has no quorum" if quorum else "does not answer"
    left = "no further loss can be borne" if spare <= 0 else f"{count(spare, 'more loss')} can be borne"
    return Finding(
        code=CODE,
        severity=Severity.WARNING,
        obj=f"zookeeper {node.address}",
        summary=f"zookeeper {node.address} {what}, {len(serving)} of {len(case.ensemble)} servers serve: {left}",
        cause=Cause(
            "it is cut off from the other servers" if quorum else "it is dead, or cut off from us",
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
                f"mend the network between zookeeper {node.address} and the other servers: it joins again by itself"
                if quorum
                else f"start zookeeper {node.address}, or mend the way to it"
            ),
            Remedy("if it stays out while the network is well: restart this one server"),
        ),
        never=("do not restart the servers that serve: they are the quorum",),
        follows=(key_of(case.cut),) if case.cut is not None and _same_host(case, node) else (),
    )


def _same_host(case: CaseFile, node: ZooKeeperNode) -> bool:
    """On the host of a broker that is cut off: the same cut."""
    cut = case.cut
    host = node.address.rpartition(":")[0]
    return cut is not None and host in {case.address(b).rpartition(":")[0] for b in cut.brokers}


def _said(node: ZooKeeperNode) -> str:
    zxid = f", zxid 0x{node.zxid:x}" if node.zxid >= 0 else ""
    return f"{node.mode or 'no mode'}{zxid}" + (f" ({node.error})" if node.error else "")


CHECK = ClusterCheck(
    code=CODE,
    slug="zookeeper-node",
    title="a ZooKeeper server has no quorum or does not answer",
    severity=Severity.WARNING,
    check=check,
    debounce=Debounce.HELD,
)
