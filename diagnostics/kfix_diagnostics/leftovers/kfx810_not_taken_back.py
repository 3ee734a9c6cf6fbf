"""KFX810 not-taken-back: a replica has all records but is not added to the ISR.

Why it matters
    The partition stays under-replicated forever, although nothing is wrong with the replica, the disks or the network.
    The next failure then hits a partition that is one replica short.

How kfix knows
    The log ends of replica and leader are the same, the replica is registered, and the ISR was last written long ago: a
    healthy leader adds a replica to the ISR within a second.

Remedies, safest first
    Restart the leader with a clean shutdown: another in-sync replica is elected and computes a new ISR. If it is the
    only one, the partition has no leader until it is back; unclean elections have to be forbidden before.

Do not
    Do not restart or wipe the replica: it has all records.

Sources
    Kafka 2.7.1: the leader waits forever for the answer to an AlterIsr request, which a frozen or isolated controller
    never gave, and sends no other. Reproduced by isolating the controller's zone, and by stopping a controller: watched
    for 150 s, fixed by a restart of the leader. See docs/facts/controller.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.derive.grouping import grouped
from kfix.core.derive.moves import LeftOut
from kfix.core.diagnosis.finding import Cause, Evidence, Finding
from kfix.core.wording import ago, brokers_named, per_topic
from kfix_diagnostics._bans import no_restart, no_unclean_election, restart
from kfix_diagnostics._evidence import log_end_row, state_row


@ClusterCheck()
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    if case.cut is not None:
        return
    for leader, found in sorted(grouped((each.leader, each) for each in case.left_out).items()):
        yield _left_out(case, leader, found)


def _left_out(case: CaseFile, leader: int, found: list[LeftOut]) -> Finding:
    tps = tuple(sorted({each.tp for each in found}))
    brokers = tuple(sorted({each.broker for each in found}))
    alone = all(case.isr(tp) == (leader,) for tp in tps)
    then = "it leads again then, and computes" if alone else "a new leader computes"
    return Finding(
        obj=f"broker {leader}",
        summary=f"leader {leader} has not added {brokers_named(brokers)} to the ISR of {per_topic(tps)} for "
        f"{ago(min(each.since for each in found))}, although {'it has' if len(brokers) == 1 else 'they have'} "
        "all records",
        cause=Cause("its request to expand the ISR was lost with a controller, and it does not send another"),
        evidence=(
            *state_row(case, tps[0]),
            *log_end_row(case, tps[0]),
            *(Evidence("ISR unchanged", str(each.tp), f"for {ago(each.since)}") for each in found[:5]),
        ),
        remedies=(
            restart(
                f"Restart broker {leader} with a clean shutdown, and no other broker: {then} a new ISR",
                leader,
            ),
        ),
        never=(
            f"Do not restart or wipe {brokers_named(brokers)}: nothing is wrong there",
            "Do not trigger an unclean election",
        ),
        forbids=(no_unclean_election(tps), no_restart(brokers)),
        partitions=tps,
        facts={"leader": leader, "brokers": brokers},
    )
