"""KFX705 clock-skew: a look was taken at a time that the run does not cover.

Why it matters
    Ages are told from clocks: how long a broker has been gone, how long an ISR has been short. With a wrong clock a
    restart looks like an outage, or an outage like a restart; and days of the history change places.

How kfix knows
    The time of each look against the beginning and the end of its run, as the machine of the run has them. More than
    five minutes after the end is another clock (that of a Spark worker); a run that was broken off and gone on with has
    older looks, and up to six hours are no finding.

What helps
    NTP on the machine that collected it.

What not to do
    Do not act on ages ("gone for 3 hours") of this look.

Sources
    kfix itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.model.audit.fleetcase import FleetCase, FleetCheck
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity

CODE = "KFX705"
#: Seconds that a look may be taken after its run ended, and before it began.
LATE = 300.0
EARLY = 6 * 3600.0


def check(case: FleetCase) -> Iterator[tuple[str, Finding]]:
    for name, digest in sorted(case.digests.items()):
        early, late = case.began - digest.taken_at, digest.taken_at - case.ended
        if early <= EARLY and late <= LATE:
            continue
        off, where = (late, "after the run ended") if late > LATE else (early, "before the run began")
        yield (
            name,
            Finding(
                code=CODE,
                severity=Severity.WARNING,
                obj="look",
                summary=f"its look is from {_minutes(off)} {where}: ages in its findings cannot be trusted",
                cause=Cause("the clock of the machine that took the look is wrong", Confidence.LIKELY),
                evidence=(Evidence("look", "taken at, seconds since the epoch", f"{digest.taken_at:.0f}"),),
                remedies=(Remedy("keep the clocks of the machines that collect by NTP"),),
                never=("do not act on ages of this look",),
            ),
        )


def _minutes(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes < 180 else f"{round(minutes / 60)} hours"


CHECK = FleetCheck(
    code=CODE,
    slug="clock-skew",
    title="a look was taken at a time that the run does not cover",
    severity=Severity.WARNING,
    check=check,
)
