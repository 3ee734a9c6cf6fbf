"""KFX806 zookeeper-quorum: no ZooKeeper server has a quorum; Kafka goes on with what it knows.

Why it matters
    Clients work on, and nothing can change: no leader is elected when a broker dies, no isr shrinks or grows, no topic
    is made, no controller follows a lost one. acks=all stalls wherever a replica lags. Metadata is frozen: it proves
    nothing about now.

How kfix knows
    Every server of the ensemble is asked by itself (`srvr`): none calls itself leader, follower or standalone, and at
    least one says that it does not serve.

What helps
    Bring back a majority: mend the network between the servers, or start the dead ones. Sessions survive: brokers
    whose session ends meanwhile register again by themselves.

What not to do
    Do not restart brokers: without ZooKeeper they do not come up. Do not wipe a server's data. No runbook can act.

Sources
    ZooKeeper 3.5.9: all three servers cut from each other answer "not currently serving requests" after about 5 s.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.model.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics._words import count
from kfix_diagnostics.network._cut import vantage_rows

CODE = "KFX806"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    nodes = case.ensemble
    # Who does not allow the question may serve; one that was read through does.
    if case.controller is not None or any(node.serves or node.refuses for node in nodes):
        return
    if not any(node.without_quorum for node in nodes):
        return
    silent = [node.address for node in nodes if not node.without_quorum]
    dead = f", {count(len(silent), 'server')} {'does' if len(silent) == 1 else 'do'} not answer" if silent else ""
    yield Finding(
        code=CODE,
        severity=Severity.CRITICAL,
        obj="zookeeper ensemble",
        summary=f"ZooKeeper has lost its quorum: none of {count(len(nodes), 'server')} serves{dead}; "
        "clients work on, and nothing in Kafka can change",
        cause=Cause(
            "the servers do not reach each other" if not silent else "servers are dead, or do not reach each other",
            Confidence.LIKELY,
        ),
        evidence=(
            *(Evidence(f"zookeeper {node.address}", "srvr", node.mode or node.error or "no answer") for node in nodes),
            *vantage_rows(case),
        ),
        blocked=Blocked("whoever needs a change: elections, isr changes, new topics, brokers that start"),
        remedies=(
            Remedy("mend the network between the ZooKeeper servers, or start the dead ones, until a majority serves"),
            Remedy("then look again: do nothing to Kafka before"),
        ),
        never=("do not restart brokers: without ZooKeeper they do not come up", "do not wipe a server's data"),
    )


CHECK = ClusterCheck(
    code=CODE,
    slug="zookeeper-quorum",
    title="ZooKeeper has lost its quorum",
    severity=Severity.CRITICAL,
    check=check,
    debounce=Debounce.HELD,
)
