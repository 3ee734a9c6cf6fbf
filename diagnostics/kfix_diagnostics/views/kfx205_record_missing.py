"""KFX205 record-missing: ZooKeeper lacks a partition that brokers serve, or lists other replicas.

Why it matters
    Clients notice nothing, and no metric changes. But the controller forgets a topic whose znode is gone: its leaders
    cannot change their ISR, and when one of them fails, no election follows. Its partitions stay without a leader for
    good. If the replicas differ, the next controller takes ZooKeeper's.

How kfix knows
    The partitions and replicas that each broker reports against the topics in ZooKeeper, while ZooKeeper is the
    authority. Topics under deletion, replicas under reassignment, and sources that kfix could not read are exempt. Two
    snapshots must show it, since a topic may be created between two reads. A partition that only brokers without a
    replica know is stale metadata (KFX203).

Remedies, safest first
    While its leaders are alive, copy the topic's records to a new topic. Or restore its znodes from a backup of
    ZooKeeper, topic and states in one transaction, then have another controller elected: it reads them. If the replicas
    differ, reassign the partition to those that it should have: the controller writes the list again.

Do not
    Do not restart the leaders of such a topic before that: each restart leaves their partitions without a leader. If
    the replicas differ, do not have another controller elected before they are written again, unless the controller
    does not act.

Sources
    Kafka 2.7.1: KafkaController.processTopicChange removes a topic without a znode from its memory and sends nothing to
    the brokers; PartitionModifications takes up new partitions only. Tried on real brokers. See
    docs/facts/zookeeper.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, Debounce, PartitionCheck, Rows, Scope
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.diagnosis.finding import Cause, ChangeKind, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, brokers_named, ids, per_topic, some, them, topics
from kfix_diagnostics._advice import blocked, runbook
from kfix_diagnostics._bans import NO_OTHER_CONTROLLER, no_election, no_restart
from kfix_diagnostics._evidence import assignment_row, live_row, view_rows
from kfix_diagnostics._unrecorded import is_served

_CAUSE = Cause("something else has changed ZooKeeper: a person, a script, or a restored backup")


@PartitionCheck(
    severity=Severity.CRITICAL,
    rows="(zk_lacks or not replicas_agree) and not deleting",
    debounce=Debounce.HELD,
    scope=Scope.ZOOKEEPER,
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    served = [row for row in rows if row.zk_lacks and is_served(row, case)]
    led = [row for row in served if _is_led(row, case)]
    lost = [row.tp for row in served if not _is_led(row, case)]
    moved = [row.tp for row in rows if not row.zk_lacks]
    if led:
        yield _served(led, case)
    if lost:
        yield _leaderless(lost, case)
    if moved:
        yield _other_replicas(moved, case)


def _is_led(row: PartitionFacts, case: CaseFile) -> bool:
    """Returns whether its leader may still lead it: one that has restarted since does not know the partition."""
    forgot = row.leader in case.views and row.tp not in case.views[row.leader].partitions
    return not row.leaderless and not forgot


def _served(rows: list[PartitionFacts], case: CaseFile) -> Finding:
    tps = [row.tp for row in rows]
    leaders = sorted({row.leader for row in rows})
    it, serving = them(len(tps)), brokers_named(b for tp in tps for b in case.views_of(tp))
    return Finding(
        obj="served without a record",
        summary=f"{per_topic(tps)} {are(topics(tps))} not in ZooKeeper, and {serving} still serve {it}. "
        f"Clients work until a leader fails ({brokers_named(leaders)}): then no leader is elected for {it} again",
        cause=_CAUSE,
        evidence=_evidence(tps, case),
        remedies=(
            Remedy(f"Copy the records of {_topics(tps)} to new topics while the leaders are alive"),
            *_restored(tps, case),
        ),
        never=(f"Do not restart {brokers_named(leaders)} before that: their partitions lose their leaders for good",),
        forbids=(no_restart(leaders), no_election(tps)),
        partitions=tuple(tps),
    )


def _leaderless(tps: list[TopicPartition], case: CaseFile) -> Finding:
    return Finding(
        severity=Severity.CRITICAL,
        obj="leaderless without a record",
        summary=f"no broker leads {per_topic(tps)}, and ZooKeeper does not have {them(len(tps))}: the "
        "controller does not know of any, so no election follows",
        cause=_CAUSE,
        evidence=_evidence(tps, case),
        blocked=blocked(case, tps),
        remedies=tuple(_restored(tps, case)),
        never=("Do not trigger an election: the controller answers that it does not know the partition",),
        forbids=(no_election(tps),),
        partitions=tuple(tps),
    )


def _other_replicas(tps: list[TopicPartition], case: CaseFile) -> Finding:
    first, one = tps[0], len(tps) == 1
    now = () if case.controller is None or case.controller.broker is None else (case.controller.broker,)
    restart = f"restart {brokers_named(now)}, or " if now else ""
    return Finding(
        obj="other replicas",
        summary=f"ZooKeeper lists other replicas of {per_topic(tps)} than the brokers report: of {first} "
        f"{ids(case.assignment(first).replicas)} instead of {ids(_reported(first, case))}. The next controller takes "
        "those of ZooKeeper",
        cause=_CAUSE,
        evidence=_evidence(tps, case),
        remedies=(
            Remedy(
                f"Reassign {'the partition' if one else 'each partition'} to the replicas that it should have, before "
                "another controller is elected: the controller writes the list again",
                changes=(ChangeKind.REASSIGNMENT,),
            ),
            runbook(
                case,
                "controller-reelect",
                "Only if the controller does not carry that out (KFX202): note the replicas that the brokers report, "
                "have another controller elected, and reassign at once",
            ),
        ),
        never=(
            "Do not edit the topic's znode by hand: the controller does not read the replicas again",
            f"Do not {restart}have another controller elected until the replicas agree",
        ),
        forbids=(NO_OTHER_CONTROLLER, no_restart(now)),
        partitions=tuple(tps),
    )


def _restored(tps: list[TopicPartition], case: CaseFile) -> Iterator[Remedy]:
    yield Remedy(
        f"Restore the znodes of {_topics(tps)} from a backup of ZooKeeper, topics and states in one transaction, with "
        "the leader epochs that the brokers report, or higher ones"
    )
    yield runbook(case, "controller-reelect", "After that, have another controller elected: it reads what was restored")


def _topics(tps: list[TopicPartition]) -> str:
    return some(sorted({tp.topic for tp in tps}), 5)


def _reported(tp: TopicPartition, case: CaseFile) -> tuple[int, ...]:
    newest = case.newest_view(tp)
    return () if newest is None else newest.replicas


def _evidence(tps: list[TopicPartition], case: CaseFile) -> tuple[Evidence, ...]:
    first = tps[0]
    recorded = case.record is not None and first in case.record.assignments
    what = "has no state" if recorded else "does not exist"
    lacks = () if case.state(first) is not None else (Evidence(case.zookeeper_name, f"record of {first}", what),)
    reported = Evidence("brokers", f"replicas of {first}", ids(_reported(first, case)))
    rows = assignment_row(case, first) if recorded else ()
    return (*lacks, *rows, reported, *view_rows(case, first), *live_row(case))
