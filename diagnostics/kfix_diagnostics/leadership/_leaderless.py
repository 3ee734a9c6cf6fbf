"""KFX101 and KFX102 share one fault and one cure: no leader, although a replica in sync is alive."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import Rows
from kfix.derive.naming import brokers_named
from kfix.derive.partition_facts import PartitionFacts
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, FactValue, Finding, Remedy, Severity
from kfix_diagnostics._advice import NEVER_EDIT, blocked, look_again, preferred_election, runbook
from kfix_diagnostics._evidence import partition_rows, probe_rows
from kfix_diagnostics._words import MANY, ago, count, either, ids, per_topic, some


def describe(code: str, rows: Rows, case: CaseFile) -> Iterator[Finding]:
    if len(rows) > MANY:
        yield _many(code, rows, case)
        return
    for row in rows:
        yield _one(code, row, case)


def _one(code: str, row: PartitionFacts, case: CaseFile) -> Finding:
    tp = row.tp
    isr = case.isr(tp)
    live_isr = case.among_live(isr)
    stuck = blocked(case, [tp])
    since = f" for {ago(row.stable_for)}" if row.stable_for >= 0 else ""
    leader = "no leader" if row.leader < 0 else f"no leader that lives (broker {row.leader} is named, and is gone)"
    return Finding(
        code=code,
        severity=Severity.CRITICAL,
        obj=str(tp),
        summary=f"{tp} has {leader}{since}, although {brokers_named(live_isr)} of its isr {ids(isr)} "
        f"{'lives' if len(live_isr) == 1 else 'live'}: an election loses nothing",
        cause=_cause(row, case),
        evidence=_evidence(row, case),
        blocked=stuck,
        remedies=tuple(_remedies(row, case)),
        never=_never(case, live_isr),
        partitions=(tp,),
        facts=_facts(row, case, stuck.groups),
        token=f"{row.zk_version}/{row.leader_epoch}",
    )


def _facts(row: PartitionFacts, case: CaseFile, groups: tuple[str, ...]) -> dict[str, FactValue]:
    isr = case.isr(row.tp)
    return {
        "topic": row.topic,
        "partition": row.partition,
        "leader": row.leader,
        "isr": isr,
        "live_isr": case.among_live(isr),
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
            "in KRaft this is no lasting state: the member is fenced, or the brokers that were asked lag behind the "
            "controller",
            Confidence.LIKELY,
        )
    if row.leader >= 0:
        return Cause(
            f"the controller has not acted on the loss of broker {row.leader}: ZooKeeper still names it",
            Confidence.LIKELY,
        )
    if not row.zk_known:
        return Cause("no election followed the loss of the leader; ZooKeeper was not read", Confidence.POSSIBLE)
    return Cause(
        "ZooKeeper's record differed from the controller's memory when the recorded leader was lost: the controller "
        "took that replica out, wrote leader -1, and still counts the partition as online, so no election follows",
        Confidence.LIKELY,
    )


def _remedies(row: PartitionFacts, case: CaseFile) -> Iterator[Remedy]:
    tp = row.tp
    if case.kraft:
        yield preferred_election(case, tp, "a preferred election: in KRaft it takes any replica that is in sync")
        yield Remedy("look at the controller quorum: a leader, and no broker that lags behind it")
        return
    yield runbook(
        case,
        "coordinator-stuck",
        "an election among the replicas in sync only, proved by a client; nothing is lost",
    )
    if row.preferred_in_live_isr:
        yield preferred_election(
            case, tp, f"by hand: a preferred election, since {row.preferred} is first in the assignment and in sync"
        )
    replicas = ids(case.assignment(tp).replicas)
    yield Remedy(
        f"by hand: a reassignment to the same list {replicas} through the admin API makes the controller elect; the "
        "stock tool refuses it while one of these brokers is dead"
    )
    yield from _last_resorts(case, [row])


def _last_resorts(case: CaseFile, rows: list[PartitionFacts]) -> Iterator[Remedy]:
    yield Remedy("then: let another controller be elected; it reads everything again and elects wherever it can")
    members = {b for row in rows for b in case.isr(row.tp)}
    outside = sorted((case.live or frozenset()) - members)
    if outside:
        yield Remedy(f"last: restart {either(outside)}, which {'is' if len(outside) == 1 else 'are'} not in the isr")


def _never(case: CaseFile, live_isr: tuple[int, ...]) -> tuple[str, ...]:
    only = brokers_named(live_isr)
    restart = (
        f"do not restart {only}: while it is down no replica in sync is left, and where unclean elections are "
        "allowed acknowledged records are lost"
    )
    config = "do not set unclean.leader.election.enable=true: it does not help here, and loses records elsewhere"
    if case.kraft:
        return restart, config
    drop = (
        "do not take the dead replica out by a reassignment: the partition stays without a leader and the "
        "reassignment hangs"
    )
    return restart, config, NEVER_EDIT, drop, "do not reassign to the isr alone: the other copies are deleted"


def _many(code: str, rows: Rows, case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    topics = sorted({tp.topic for tp in tps})
    live = sorted({b for tp in tps for b in case.among_live(case.isr(tp))})
    remedies: list[Remedy] = []
    if not case.kraft:
        remedies = [
            runbook(case, "coordinator-stuck", "an election among the replicas in sync only, partition by partition"),
            *_last_resorts(case, list(rows)),
        ]
    return Finding(
        code=code,
        severity=Severity.CRITICAL,
        obj=f"topic {topics[0]}" if len(topics) == 1 else "many topics",
        summary=f"{count(len(rows), 'partition')} have no leader although replicas in sync live: {per_topic(tps)}",
        cause=_cause(rows[0], case),
        evidence=(*_evidence(rows[0], case), Evidence("all of them", "partitions", some(tps, 10))),
        blocked=blocked(case, tps),
        remedies=(*remedies, look_again(case, "a broker that has just started may still be electing: look again")),
        never=_never(case, tuple(live)),
        partitions=tps,
        facts={"controller": _controller(case), "dead": case.dead},
    )
