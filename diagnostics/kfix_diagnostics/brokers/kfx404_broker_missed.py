"""KFX404 broker-missed: a broker that earlier looks saw is not there, and no replica is assigned to it.

Why it matters
    A broker without replicas can vanish without a trace in the cluster: no partition misses it. Then two of three
    brokers may be gone and everything that is left looks well, until the next topic is created.

How kfix knows
    The local store remembers every broker id that answered in an earlier look at this cluster (the last 20 looks of
    this machine). The id is neither registered nor answering nor in any assignment now.

What helps
    If it was taken out on purpose: nothing. Otherwise start it.

What not to do
    Nothing of the cluster depends on it: change nothing because of it.

Sources
    Seen on a 2.7.1 lab cluster without topics, two of whose three brokers had been killed.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.naming import brokers_named
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics._evidence import live_row
from kfix_diagnostics._words import either

CODE = "KFX404"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    missed = case.missed
    if not missed:
        return
    is_not = "is" if len(missed) == 1 else "are"
    yield Finding(
        code=CODE,
        severity=Severity.INFO,
        obj=brokers_named(missed),
        summary=f"{brokers_named(missed)}, seen in an earlier look, {is_not} not there; no replica is assigned there",
        cause=Cause("taken out on purpose, or stopped", Confidence.UNKNOWN),
        evidence=(
            *(Evidence("earlier looks", f"broker {b}", f"answered at {case.address(b)}") for b in missed),
            *live_row(case),
        ),
        remedies=(Remedy(f"if that was not on purpose: start {either(missed)}"),),
        never=("change nothing in the cluster because of it: nothing depends on it",),
    )


CHECK = ClusterCheck(
    code=CODE,
    slug="broker-missed",
    title="a broker of earlier looks is gone; it holds no replica",
    severity=Severity.INFO,
    check=check,
    debounce=Debounce.NONE,
)
