"""KFX705 clock-skew: a snapshot was taken at a time outside its run.

Why it matters
    Ages are computed from clocks: how long a broker has been gone, how long an ISR has been short. With a wrong clock a
    restart looks like an outage, or an outage like a restart, and the history is out of order.

How kfix knows
    The time of each snapshot against the beginning and the end of its run, by the clock of the host of the run. More
    than five minutes after the end means another clock (a Spark worker's). A run that was interrupted and resumed has
    older snapshots, so up to six hours before the beginning are no finding.

Remedies, safest first
    NTP on the host that collected it.

Do not
    Do not act on ages ("gone for 3 hours") of this snapshot.

Sources
    kfix itself.
"""

from collections.abc import Iterator

from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Remedy
from kfix.core.fleetcase import FleetCase, FleetCheck
from kfix.core.wording import ago

#: Seconds that a snapshot may be taken after its run ended, and before it began.
LATE = 300.0
EARLY = 6 * 3600.0


@FleetCheck()
def check(case: FleetCase) -> Iterator[tuple[str, Finding]]:
    for name, digest in sorted(case.digests.items()):
        early, late = case.began - digest.taken_at, digest.taken_at - case.ended
        if early <= EARLY and late <= LATE:
            continue
        off, where = (late, "after the run ended") if late > LATE else (early, "before the run began")
        finding = Finding(
            obj="snapshot",
            summary=f"its snapshot was taken {ago(off)} {where}: ages in its findings cannot be trusted",
            cause=Cause("the clock of the host that took the snapshot is wrong"),
            evidence=(Evidence("snapshot", "taken at, seconds since the epoch", f"{digest.taken_at:.0f}"),),
            remedies=(Remedy("Synchronise the clocks of the collecting hosts by NTP"),),
            never=("Do not act on ages of this snapshot",),
        )
        yield name, finding
