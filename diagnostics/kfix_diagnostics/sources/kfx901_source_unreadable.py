"""KFX901 source-unreadable: a source did not answer, so something cannot be said.

Why it matters
    "Not read" is not "healthy". A cluster of which half could not be seen is not reported as well: the exit code says
    so (22) unless something critical was found anyway.

How kfix knows
    Every question to every broker, to ZooKeeper and to coordinators is recorded with its outcome. A dead broker that
    does not answer is no such case, nor is one dead bootstrap address among several.

What helps
    Give the missing address or rights (--zookeeper, --command-config), lengthen --timeout, or run kfix where the
    source can be reached.

What not to do
    Do not take the absence of findings for health.

Sources
    kfix itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics.sources._unread import broker_of, leaves_open, unread

CODE = "KFX901"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    for source in unread(case):
        broker = broker_of(source.name)
        yield Finding(
            code=CODE,
            severity=Severity.INFO,
            obj=source.name,
            summary=f"{source.name} was not read; open stays {leaves_open(source.name)}",
            cause=Cause(source.error or "no answer", Confidence.CERTAIN),
            evidence=(Evidence(source.name, "asked", source.error or "no answer"),),
            remedies=(
                Remedy("give the address or the rights that are missing, lengthen --timeout, or ask from nearer"),
            ),
            never=("do not take what was not read for healthy",),
            follows=() if broker is None else (f"KFX402:broker {broker}",),
        )


CHECK = ClusterCheck(
    code=CODE,
    slug="source-unreadable",
    title="a source did not answer, so something cannot be said",
    severity=Severity.INFO,
    check=check,
    debounce=Debounce.NONE,
)
