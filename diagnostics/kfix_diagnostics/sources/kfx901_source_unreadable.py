"""KFX901 source-unreadable: a source did not answer, so something is unknown.

Why it matters
    "Not read" is not "healthy". A cluster half of which could not be read is not reported as healthy: the exit code is
    22 unless something critical was found anyway.

How kfix knows
    kfix records the outcome of every request to every broker, to ZooKeeper and to coordinators. This finding does not
    cover a dead broker that does not answer, or a bootstrap address that refuses connections while another responds. It
    does cover an address that neither refuses nor answers, unless a broker is known to be dead or silent: it may be a
    frozen broker that is no longer registered and has no replicas, so that no other source names it.

Remedies, safest first
    Provide the missing address or rights (--zookeeper, --command-config), raise --timeout, or run kfix where the source
    can be reached.

Do not
    Do not conclude from the absence of findings that the cluster is healthy.

Sources
    kfix itself.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics.sources._unread import broker_of, leaves_open, unread


@ClusterCheck(severity=Severity.INFO, debounce=Debounce.NONE)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    for source in unread(case):
        broker = broker_of(source.name)
        yield Finding(
            severity=Severity.INFO,
            obj=source.name,
            summary=f"{source.name} was not read. Still unknown: {leaves_open(source.name)}",
            cause=Cause(source.error or "no answer", Confidence.CERTAIN),
            evidence=(Evidence(source.name, "asked", source.error or "no answer"),),
            remedies=(
                Remedy("Provide the missing address or rights, raise --timeout, or run kfix closer to the source"),
            ),
            never=("Do not assume that what was not read is healthy",),
            follows=() if broker is None else (f"KFX402:broker {broker}",),
        )
