"""KFX120 last-known-leader-gone: the last known leader of a leaderless partition is no longer one of its replicas.

Why it matters
    Producers and consumers of the partition are blocked. Worse, when the dead replica is started, the controller fails
    on its registration: it resigns, the next controller fails as well, and no change of the cluster succeeds while that
    broker keeps trying. The broker never registers, so all its partitions stay without it.

How kfix knows
    DescribeTopicPartitions names a last known leader that is not among the replicas of the partition. Kafka gets there
    by cancelling a reassignment whose original replicas were dead, with unclean elections allowed (KAFKA-14424); the
    copy that had led until then is deleted.

Remedies, safest first
    Set the feature eligible.leader.replicas.version to 0, which removes the last known leaders, then start the dead
    replica with its old disk: it registers within seconds, leads, and loses nothing that it has. Set the feature to 1
    again afterwards. Do not do this while another partition waits for an eligible replica (KFX119): Kafka would forget
    that one, too. If the records of the topic do not matter, deleting the topic also lets the broker register.

Do not
    Do not start the dead replica before that. If it runs already, stop it: then the controllers are stable again. Do
    not reassign it: without a leader, the reassignment hangs.

Sources
    Kafka 4.3.1: `Replica 3 is not assigned to this partition` in `registerBroker`; seen on real brokers, where the
    epoch of the controllers grew by one a second. See docs/facts/kraft.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, PartitionCheck, Rows, Scope
from kfix.core.derive.grouping import grouped
from kfix.core.derive.predicate import LEADERLESS
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import brokers_named, per_topic
from kfix_diagnostics._advice import blocked, diagnose_again, servers
from kfix_diagnostics._bans import no_move, no_start
from kfix_diagnostics._evidence import assignment_row, live_row, rows_of
from kfix_diagnostics.leadership._eligible import strayed, waits_for

_FEATURE = "eligible.leader.replicas.version"
_ELSEWHERE = "KFX119"


@PartitionCheck(severity=Severity.CRITICAL, rows=LEADERLESS, scope=Scope.KRAFT)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    waiting = any(waits_for(row.tp, case) is not None for row in rows)
    gone = (row.tp for row in rows if strayed(row.tp, case))
    found = grouped((tuple(sorted(case.assignment(tp).replicas)), tp) for tp in gone)
    for replicas, tps in sorted(found.items()):
        yield _gone(replicas, tps, case, waiting=waiting)


def _gone(replicas: tuple[int, ...], tps: list[TopicPartition], case: CaseFile, *, waiting: bool) -> Finding:
    who = tuple(sorted({b for tp in tps for b in strayed(tp, case)}))
    kept = brokers_named(replicas)
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"replicas on {kept}",
        summary=f"{per_topic(tps)} cannot get a leader: the last known leader, {brokers_named(who)}, is no longer a "
        f"replica. Starting {kept} now makes the controllers fail one after another",
        cause=Cause(
            "a reassignment was cancelled while its original replicas were dead and unclean elections were allowed"
        ),
        evidence=(*rows_of(case, tps[:3], _eligible_row, assignment_row), *live_row(case)),
        blocked=blocked(case, tps),
        remedies=tuple(_remedies(kept, tps, case, waiting=waiting)),
        never=(
            f"Do not start {kept} before that; if it runs already, stop it: the controllers are then stable again",
            "Do not trigger an election: no replica is alive",
            f"Do not reassign the replicas on {kept}: without a leader, the reassignment hangs",
        ),
        forbids=(no_start(replicas), no_move(replicas)),
        partitions=tuple(tps),
    )


def _eligible_row(case: CaseFile, tp: TopicPartition) -> Iterator[Evidence]:
    said = f"no leader; last known leader {', '.join(map(str, strayed(tp, case)))}, which is no replica"
    yield Evidence("DescribeTopicPartitions", str(tp), said)


def _remedies(kept: str, tps: list[TopicPartition], case: CaseFile, *, waiting: bool) -> Iterator[Remedy]:
    wait = f"First resolve {_ELSEWHERE}, whose eligible replicas would be forgotten, too. Then set"
    first = wait if waiting else "Set"
    yield Remedy(
        f"{first} {_FEATURE} to 0: Kafka then forgets the last known leader",
        f"kafka-features.sh {servers(case)} downgrade --feature {_FEATURE}=0",
    )
    yield Remedy(f"Then start {kept} with the old disk: it registers and leads within seconds, with all its records")
    yield Remedy(
        "When every partition has a leader, switch eligible leader replicas on again",
        f"kafka-features.sh {servers(case)} upgrade --feature {_FEATURE}=1",
    )
    yield diagnose_again(case, "Diagnose again")
    yield Remedy(f"If the records of {per_topic(tps)} do not matter: delete the topic; then {kept} can be started")
