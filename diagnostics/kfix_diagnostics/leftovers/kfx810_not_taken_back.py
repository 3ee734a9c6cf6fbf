"""KFX810 not-taken-back: a replica has all records of its leader, and the leader does not take it back into the isr.

Why it matters
    The partition stays under-replicated for ever, though nothing is wrong with the replica, the disks or the network.
    The next failure then hits a partition that is one replica short.

How kfix knows
    The log ends of replica and leader are the same, the replica is registered, and the isr was last written long ago:
    an ordinary leader takes a replica back within a second.

What helps
    Restart the leader, cleanly: another replica in sync leads, and the isr is worked out anew.

What not to do
    Do not restart the replica, and do not wipe it: it has everything.

Sources
    Kafka 2.7.1: an AlterIsr request that a controller took and never answered, because it was frozen or cut off, is
    waited for without end, and no other is sent. Seen after the controller's zone was isolated (C4), and after a
    controller was stopped: 150 s watched, cured by a restart of the leader.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.lag import LeftOut
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix_diagnostics._evidence import log_end_row, state_row
from kfix_diagnostics._words import ago, per_topic

CODE = "KFX810"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    if case.cut is not None:
        return
    by_leader: dict[int, list[LeftOut]] = {}
    for each in case.left_out:
        by_leader.setdefault(each.leader, []).append(each)
    for leader, found in sorted(by_leader.items()):
        yield _left_out(case, leader, found)


def _left_out(case: CaseFile, leader: int, found: list[LeftOut]) -> Finding:
    tps = tuple(sorted({each.tp for each in found}))
    brokers = tuple(sorted({each.broker for each in found}))
    names = ", ".join(map(str, brokers))
    return Finding(
        code=CODE,
        severity=Severity.WARNING,
        obj=f"broker {leader}",
        summary=f"broker {leader} does not take {names} back into the isr of {per_topic(tps)}, "
        f"which {'has' if len(brokers) == 1 else 'have'} all records, for {ago(min(each.since for each in found))}",
        cause=Cause(
            "its request for a larger isr was lost with a controller, and it sends no other", Confidence.LIKELY
        ),
        evidence=(
            *state_row(case, tps[0]),
            *log_end_row(case, tps[0]),
            *(Evidence("isr unchanged", str(each.tp), ago(each.since)) for each in found[:5]),
        ),
        remedies=(Remedy(f"restart broker {leader}, cleanly, and only it: the isr is worked out anew"),),
        never=(f"do not restart or wipe broker {names}: nothing is wrong there", "no unclean election"),
        partitions=tps,
        facts={"leader": leader, "brokers": brokers},
    )


CHECK = ClusterCheck(
    code=CODE,
    slug="not-taken-back",
    title="a replica has everything and is not taken back into the isr",
    severity=Severity.WARNING,
    check=check,
    debounce=Debounce.HELD,
)
