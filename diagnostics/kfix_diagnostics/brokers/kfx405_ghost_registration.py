"""KFX405 ghost-registration: a broker is registered with a KRaft cluster, but its process is gone.

Why it matters
    With ZooKeeper a registration ends with its broker; on KRaft it stays, fenced, until it is removed. It blocks
    upgrading metadata.version to a level that the broker's last version of Kafka does not support, and a new topic that
    needs more replicas than there are live brokers gets one there. Nothing else depends on it.

How kfix knows
    Kafka 4.0 and later report brokers that are registered and fenced. Before 4.0, only the active controller shows such
    a broker: it lists the last fetch of metadata for 5 minutes, and nothing afterwards. The broker does not answer
    kfix, is no voter of the quorum, and no replica is assigned to it. Its last fetch, or its last answer in an earlier
    snapshot, bounds the time for which it has been gone, and so shows whether it may be restarting.

Remedies, safest first
    If it is to come back, start it. If it is gone for good, unregister it: kfix checks again that nothing needs it, and
    if the broker is started after all, it registers again by itself.

Do not
    Do not unregister a broker that still holds replicas, or that runs: it would not register again before a restart.

Sources
    Kafka 3.9.2 and 4.3.1: UnregisterBroker, DescribeCluster version 2, DescribeQuorum. See docs/facts/kraft.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows, Scope
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.wording import ago
from kfix_diagnostics._advice import runbook, servers
from kfix_diagnostics._evidence import live_row


@ClusterCheck(severity=Severity.INFO, debounce=Debounce.NONE, scope=Scope.KRAFT)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    for broker in case.ghosts:
        yield _finding(broker, case)


def _finding(broker: int, case: CaseFile) -> Finding:
    gone = case.ghost_for(broker)
    young = case.may_restart(broker, gone)
    since = f" for {ago(gone)}" if gone else ""
    fenced = case.snapshot.quorum is not None and case.snapshot.quorum.fenced is not None
    blocks = "it blocks upgrading metadata.version to a level that it does not support"
    tail = "it may be restarting" if young else blocks
    return Finding(
        severity=Severity.INFO,
        obj=f"broker {broker}",
        summary=f"broker {broker} {f'has been gone{since}' if since else 'is gone'} and holds no replica, but "
        f"{'is' if fenced else 'is probably'} still registered: {tail}",
        cause=Cause(
            "a restart" if young else "it was removed without being unregistered, or it was stopped or crashed",
            Confidence.POSSIBLE if young else Confidence.LIKELY,
        ),
        evidence=(_row(broker, case, fenced=fenced), *live_row(case)),
        remedies=tuple(_remedies(broker, case, young=young, fenced=fenced)),
        never=(f"Do not unregister broker {broker} while its process runs: it registers again only at its next start",),
    )


def _row(broker: int, case: CaseFile, *, fenced: bool) -> Evidence:
    source = "DescribeCluster" if fenced else "DescribeQuorum"
    value = "registered and fenced" if fenced else "an observer of the quorum that no broker lists as alive"
    where = case.address(broker)
    return Evidence(source, f"broker {broker}", f"{value}{f'; nothing answers at {where}' if where else ''}")


def _remedies(broker: int, case: CaseFile, *, young: bool, fenced: bool) -> Iterator[Remedy]:
    if young:
        yield Remedy("Wait until it is back. Diagnose again if it does not return")
        return
    yield Remedy(f"If broker {broker} is to come back: start it")
    gone = f"If broker {broker} is gone for good: remove its registration"
    if fenced:
        yield runbook(case, "remove-ghost-registration", gone, f"broker={broker}")
    else:
        yield Remedy(
            f"{gone}. Before Kafka 4.0, nothing shows afterwards whether that worked: the command returns an error if "
            "the broker is not registered",
            f"kafka-cluster.sh unregister {servers(case, '--config')} --id {broker}",
        )
