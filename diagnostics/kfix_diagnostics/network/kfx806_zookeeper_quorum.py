"""KFX806 zookeeper-quorum: ZooKeeper has lost its quorum.

Why it matters
    Clients continue to work, but no leader is elected when a broker dies, no ISR shrinks or grows, no topic is created,
    no controller is replaced. acks=all stalls wherever a replica lags. The metadata is frozen and proves nothing about
    the present.

How kfix knows
    kfix asks every server of the ensemble (`srvr`): none reports itself as leader, follower or standalone, and at least
    one reports that it does not serve.

Remedies, safest first
    Bring back a majority: repair the network between the servers, or start the dead ones. Sessions survive: brokers
    whose session ends meanwhile register again by themselves.

Do not
    Do not restart brokers: without ZooKeeper they do not start. Do not wipe a server's data. No runbook can act.

Sources
    ZooKeeper 3.5.9: three servers cut from each other answer "not currently serving requests" after about 5 s. See
    docs/facts/network-partitions.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows, Scope
from kfix.core.diagnosis.finding import Blocked, Cause, Evidence, Finding, Remedy, Severity
from kfix.core.wording import does, several
from kfix_diagnostics._bans import NOTHING_AT_ALL
from kfix_diagnostics.network._cut import vantage_rows


@ClusterCheck(severity=Severity.CRITICAL, scope=Scope.ZOOKEEPER)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    nodes = case.ensemble
    # A server that refuses `srvr` may serve; the one that kfix read through does.
    if case.controller is not None or any(node.serves or node.refuses for node in nodes):
        return
    if not any(node.without_quorum for node in nodes):
        return
    silent = [node.address for node in nodes if not node.without_quorum]
    dead = f", {several(len(silent), 'server')} {does(len(silent))} not respond" if silent else ""
    yield Finding(
        severity=Severity.CRITICAL,
        obj="zookeeper ensemble",
        summary=f"ZooKeeper has lost its quorum: none of {several(len(nodes), 'server')} serves{dead}. "
        "Clients continue to work, but no leader can be elected",
        cause=Cause(
            "the servers do not reach each other" if not silent else "servers are dead, or do not reach each other"
        ),
        evidence=(
            *(Evidence(f"zookeeper {node.address}", "srvr", node.mode or node.error or "no answer") for node in nodes),
            *vantage_rows(case),
        ),
        blocked=Blocked("every change: elections, ISR changes, new topics, brokers that start"),
        remedies=(
            Remedy("Repair the network between the ZooKeeper servers, or start the dead ones, until a majority serves"),
            Remedy("Then diagnose again. Change nothing in Kafka before that"),
        ),
        never=(
            "Do not start or restart brokers before: without ZooKeeper they do not start",
            "Do not wipe a server's data",
        ),
        forbids=(NOTHING_AT_ALL,),
    )
