"""KFX404 broker-missed: a broker of earlier snapshots is gone; it holds no replica.

Why it matters
    A broker without replicas can vanish without a trace: no partition misses it. Two of three brokers may be gone while
    everything that remains appears healthy, until the next topic is created.

How kfix knows
    The local store remembers every broker id that responded in an earlier snapshot of this cluster (the last 20
    snapshots on this host). The id is now neither registered, nor responding, nor in any assignment. A dead broker of
    Kafka 4 stays registered (KFX405): one that is not registered there was unregistered on purpose, and is not named.

Remedies, safest first
    If it was removed on purpose: nothing. Otherwise start it.

Do not
    Do not change the cluster because of it: nothing depends on this broker.

Sources
    Seen on a 2.7.1 lab cluster without topics, two of whose three brokers had been killed.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.wording import are, brokers_named
from kfix_diagnostics._evidence import live_row


@ClusterCheck(severity=Severity.INFO, debounce=Debounce.NONE)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    missed = case.missed
    if not missed:
        return
    yield Finding(
        severity=Severity.INFO,
        obj=brokers_named(missed),
        about="brokers",
        summary=f"{brokers_named(missed)} of earlier snapshots {are(len(missed))} gone; no replica is assigned to it",
        cause=Cause("removed on purpose, or stopped", Confidence.UNKNOWN),
        evidence=(
            *(Evidence("earlier snapshots", f"broker {b}", f"responded at {case.address(b)}") for b in missed),
            *live_row(case),
        ),
        remedies=(Remedy(f"If that was not on purpose: start {brokers_named(missed)}"),),
        never=("Do not change the cluster because of it: nothing depends on this broker",),
    )
