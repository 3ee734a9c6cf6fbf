"""KFX803 zone-isolated: a zone is cut off from the others; the controller is not in it.

Why it matters
    What the zone's broker led has two leaders now: it goes on taking records from clients near it, the others follow a
    new leader. With acks=0 or 1 both sides acknowledge different records at the same offsets, and those of the
    isolated side are cut off when it returns. With acks=all nothing that was acknowledged is lost. Where it led
    nothing, only clients in the zone notice: they reach nobody who leads.

How kfix knows
    The broker answers us and is not registered; its epochs are older by one; it still calls the recorded broker
    controller. The forecast is its log end less the end of its epoch at the new leader, asked of both.

What helps
    Mend the network. It registers within a second, truncates, follows; its ZooKeeper server joins again in 14 to 17 s.

What not to do
    No election, no reassignment, no restart: nothing is wrong with Kafka. Do not wait either where two leaders take
    records: each second adds to what is cut off.

Sources
    Kafka 2.7.1, three zones: session over 4.8 to 5.4 s after the cut at 6 s; leader epoch + 1; 676 records cut off, as
    forecast by the log ends (kafka-facts J3, J5).
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.cuts import CutKind
from kfix.model.diagnosis.finding import Finding, Severity
from kfix_diagnostics.network._isolated import isolated

CODE = "KFX803"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    cut = case.cut
    if cut is not None and cut.kind is CutKind.ZONE:
        yield isolated(CODE, case, cut, controllers="")


CHECK = ClusterCheck(
    code=CODE,
    slug="zone-isolated",
    title="a zone is cut off from the others",
    severity=Severity.CRITICAL,
    check=check,
    debounce=Debounce.HELD,
)
