"""KFX804 two-controllers: the zone of the controller is cut off; another one was elected, the old one still believes.

Why it matters
    Two brokers act as controller, each for those who hear it. The old one can write nothing: ZooKeeper is on the other
    side. What its broker led has two leaders, as in KFX803, and loses the same.

How kfix knows
    The broker answers us, is not registered, and calls itself controller, while ZooKeeper records another one under a
    newer epoch. What the old controller's broker led is two leader epochs ahead, the rest one.

What helps
    Mend the network. The old controller's session is over, so it resigns at once and follows the new one.

What not to do
    Do not delete /controller: the recorded controller is the right one. No election, no reassignment, no restart.

Sources
    Kafka 2.7.1, three zones: new controller 4.8 s after the cut, leader epoch + 2 for what the lost controller led
    (kafka-facts J4).
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.cuts import CutKind
from kfix.model.diagnosis.finding import Finding, Severity
from kfix_diagnostics.network._isolated import isolated

CODE = "KFX804"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    cut = case.cut
    if cut is None or cut.kind is not CutKind.CONTROLLER_ZONE:
        return
    node = case.controller
    old = sorted({c for b, c in cut.controllers.items() if b in cut.brokers and c in cut.brokers})
    now = f"broker {node.broker} is, under epoch {node.epoch}" if node is not None else "another is"
    yield isolated(CODE, case, cut, controllers=f"; broker {old[0]} believes to be controller, {now}")


CHECK = ClusterCheck(
    code=CODE,
    slug="two-controllers",
    title="the zone of the controller is cut off, and another one was elected",
    severity=Severity.CRITICAL,
    check=check,
    debounce=Debounce.HELD,
)
