"""KFX101 and KFX102 share one fault and one remedy: no leader, although an in-sync replica is alive.

On KRaft it is no fault of the partition: an active controller elects by itself, and a preferred election is refused
(80) or answers 0 without effect (docs/facts/kraft.md). Other findings report what keeps the controllers from acting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kfix.core.derive.checks import CaseFile, Rows
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.diagnosis.finding import (
    Ban,
    Cause,
    ChangeKind,
    Confidence,
    Evidence,
    FactValue,
    Finding,
    Remedy,
    Severity,
)
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, at_least, brokers_named, either, ids, per_topic, several, some
from kfix_diagnostics._advice import NEVER_EDIT, blocked, diagnose_again, preferred_election, runbook
from kfix_diagnostics._bans import another_controller, no_election, no_restart, restart
from kfix_diagnostics._evidence import partition_rows, probe_rows
from kfix_diagnostics._words import MANY


def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    if len(rows) > MANY:
        yield _many(rows, case)
        return
    for row in rows:
        yield _one(row, case)


def _one(row: PartitionFacts, case: CaseFile) -> Finding:
    tp = row.tp
    isr = case.isr(tp)
    live_isr = case.online(tp, isr)
    stuck = blocked(case, [tp])
    since = f" for {at_least(row.stable_for)}" if row.stable_for >= 0 else ""
    verb = "has had" if since else "has"
    gone = f": the recorded leader {row.leader} is dead" if row.leader >= 0 else ""
    return Finding(
        severity=Severity.CRITICAL,
        obj=str(tp),
        summary=f"{tp} {verb} no leader{since}{gone}, although in-sync {_replicas(live_isr)} "
        f"{are(len(live_isr))} alive. {_prospect(case)}",
        cause=_cause(row, case),
        evidence=_evidence(row, case),
        blocked=stuck,
        remedies=tuple(_remedies(row, case)),
        never=_never(case, live_isr),
        forbids=_forbids(case, live_isr, (tp,)),
        partitions=(tp,),
        facts=_facts(row, case, stuck.groups),
        token=f"{row.zk_version}/{row.leader_epoch}",
    )


def _replicas(brokers: tuple[int, ...]) -> str:
    return f"replica{'' if len(brokers) == 1 else 's'} {', '.join(map(str, brokers))}"


def _facts(row: PartitionFacts, case: CaseFile, groups: tuple[str, ...]) -> dict[str, FactValue]:
    isr = case.isr(row.tp)
    return {
        "topic": row.topic,
        "partition": row.partition,
        "leader": row.leader,
        "isr": isr,
        "live_isr": case.online(row.tp, isr),
        "assignment": case.assignment(row.tp).replicas,
        "preferred_in_live_isr": row.preferred_in_live_isr,
        "controller": _controller(case),
        "group": groups[0] if groups else "",
        "dead": case.away(case.assignment(row.tp).replicas),
    }


def _controller(case: CaseFile) -> int:
    node = case.controller
    return -1 if node is None or node.broker is None else node.broker


def _evidence(row: PartitionFacts, case: CaseFile) -> tuple[Evidence, ...]:
    tp = row.tp
    return (*partition_rows(case, tp), *(probe_rows(case, [tp]) if row.offsets else ()))


def _cause(row: PartitionFacts, case: CaseFile) -> Cause:
    if case.kraft:
        return Cause(
            "on KRaft this state does not last: no controller acts, the replica is fenced, or the brokers that "
            "answered lag behind the controllers"
        )
    if row.leader >= 0:
        where = "ZooKeeper" if row.zk_known else "the text" if case.snapshot.pasted is not None else "the metadata"
        return Cause(
            f"the controller has not acted on the loss of broker {row.leader}: {where} still names it as leader"
        )
    if not row.zk_known:
        return Cause("no election followed the loss of the leader; ZooKeeper was not read", Confidence.POSSIBLE)
    return Cause(
        "ZooKeeper's record differed from the controller's memory when the recorded leader died: the controller "
        "removed that replica from the ISR, wrote leader -1 and still counts the partition as online, so it elects "
        "no leader"
    )


def _remedies(row: PartitionFacts, case: CaseFile) -> Iterator[Remedy]:
    tp = row.tp
    if case.kraft:
        yield from _of_the_quorum(case)
        return
    yield runbook(
        case,
        "coordinator-stuck",
        "Elect an in-sync replica and verify the result with a client. No data is lost",
    )
    if row.preferred_in_live_isr:
        yield preferred_election(
            case,
            tp,
            f"By hand: trigger a preferred election. Replica {row.preferred}, the preferred leader, is in sync",
        )
    replicas = case.assignment(tp).replicas
    which = f" {ids(replicas)}" if replicas else ""  # a pasted state znode does not hold them
    yield Remedy(
        f"By hand: reassign the partition to its own replicas{which} through the admin API, which makes the "
        "controller elect a leader. kafka-reassign-partitions.sh refuses this while one of these brokers is dead",
        changes=(ChangeKind.ELECTION,),
    )
    yield from _last_resorts(case, [row])


def _of_the_quorum(case: CaseFile) -> Iterator[Remedy]:
    yield Remedy(
        "Find out why the controllers do not elect: whether one is active (KFX811), whether a broker is cut off from "
        "them (KFX813), and whether the in-sync replica is fenced although it runs (KFX814)"
    )
    yield diagnose_again(case, "Then diagnose again: an active controller elects an in-sync replica by itself")


def _prospect(case: CaseFile) -> str:
    return (
        "An active controller elects it by itself, and no data is lost" if case.kraft else "An election loses no data"
    )


def _forbids(case: CaseFile, live_isr: Iterable[int], tps: Iterable[TopicPartition]) -> tuple[Ban, ...]:
    return (no_restart(live_isr), *((no_election(tps),) if case.kraft else ()))


def _last_resorts(case: CaseFile, rows: list[PartitionFacts]) -> Iterator[Remedy]:
    yield another_controller(
        "If that fails: force the election of another controller. It reads all state again and elects leaders wherever "
        "it can"
    )
    members = {b for row in rows for b in case.isr(row.tp)}
    outside = sorted((case.live or frozenset()) - members)
    outside = [b for b in outside if b not in case.only_copies] or outside
    if outside:
        yield restart(f"Last resort: restart {either(outside)}, which is not in the ISR", *outside)


def _never(case: CaseFile, live_isr: tuple[int, ...]) -> tuple[str, ...]:
    down = "it is down" if len(live_isr) == 1 else "they are down"
    restart = (
        f"Do not restart {brokers_named(live_isr)}: while {down} no in-sync replica is left, and acknowledged records "
        "are lost where unclean elections are allowed"
    )
    config = "Do not set unclean.leader.election.enable=true: it does not help here, and loses records elsewhere"
    if case.kraft:
        return restart, "Do not trigger an election: on KRaft it is refused here, or changes nothing", config
    drop = (
        "Do not remove the dead replica by a reassignment: the partition stays without a leader and the "
        "reassignment hangs"
    )
    return restart, config, NEVER_EDIT, drop, "Do not reassign to the ISR alone: the other copies are deleted"


def _many(rows: Rows, case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    topics = sorted({tp.topic for tp in tps})
    live = sorted({b for tp in tps for b in case.online(tp, case.isr(tp))})
    remedies = [*_of_the_quorum(case)]
    if not case.kraft:
        remedies = [
            runbook(case, "coordinator-stuck", "Elect an in-sync replica, partition by partition. No data is lost"),
            *_last_resorts(case, list(rows)),
            diagnose_again(case, "Diagnose again: after a broker start, elections may still be under way"),
        ]
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"topic {topics[0]}" if len(topics) == 1 else "many topics",
        about="many partitions",
        summary=f"{several(len(rows), 'partition')} have no leader, although in-sync replicas are alive: "
        f"{per_topic(tps)}. {_prospect(case)}",
        cause=_cause(rows[0], case),
        evidence=(*_evidence(rows[0], case), Evidence("all of them", "partitions", some(tps, 10))),
        blocked=blocked(case, tps),
        remedies=tuple(remedies),
        never=_never(case, tuple(live)),
        forbids=_forbids(case, live, tps),
        partitions=tps,
        facts={"controller": _controller(case), "dead": case.dead},
    )
