"""KFX804 two-controllers: the controller's zone is cut off, and another controller was elected.

Why it matters
    Two brokers act as controller, each for the brokers that reach it. The old one can write nothing: ZooKeeper is on
    the other side. Partitions that its broker led have two leaders and lose records as in KFX803.

How kfix knows
    The broker responds to kfix, is not registered, and names itself controller, while ZooKeeper records another one
    under a newer epoch. Partitions that the old controller's broker led are two leader epochs ahead, the others one.

Remedies, safest first
    Repair the network. The session of the old controller is over, so it resigns at once and follows the new one.

Do not
    Do not delete /controller: the recorded controller is the right one. Do not trigger elections or reassignments, do
    not restart.

Sources
    Kafka 2.7.1, three zones: new controller 4.8 s after the cut, leader epoch + 2 for partitions that the lost
    controller led. See docs/facts/network-partitions.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.derive.cuts import CutKind
from kfix.core.diagnosis.finding import Finding, Severity
from kfix_diagnostics.network._cut import isolated


@ClusterCheck(severity=Severity.CRITICAL)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    cut = case.cut
    if cut is None or cut.kind is not CutKind.CONTROLLER_ZONE:
        return
    node = case.controller
    old = sorted({c for b, c in cut.controllers.items() if b in cut.brokers and c in cut.brokers})
    now = f"broker {node.broker} is, with epoch {node.epoch}" if node is not None else "another broker is"
    yield isolated(case, cut, controllers=f". Broker {old[0]} still acts as controller, but {now}")
