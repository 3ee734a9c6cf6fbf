"""KFX121 partition-not-created: ZooKeeper assigns replicas to a partition that no controller has ever created.

Why it matters
    Such a partition has no leader and no ISR, and no broker knows it, so none of Kafka's own tools lists it as
    offline: clients see a topic with fewer partitions, or none. Records whose key belongs there are not written.

How kfix knows
    The topic's znode lists the partition, its state znode does not exist, no broker that answered knows it, and its
    topic is not being deleted; in two snapshots, since the controller creates a new partition within moments.

Remedies, safest first
    If no replica is alive: start one of them. A controller of ZooKeeper creates a partition once one of its replicas
    has registered. Otherwise the controller did not process the change to the topic: its log shows why, and
    another controller reads all topics and creates what is missing.

Do not
    Do not create the state znode by hand, and do not delete the topic's znode: the controller keeps its own copy.

Sources
    Kafka 2.7.1: PartitionStateMachine.initializeLeaderAndIsrForPartitions writes no state where no replica is alive;
    tried on real brokers. See docs/facts/controller.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import Debounce, PartitionCheck, Rows, Scope
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.wording import brokers_named
from kfix_diagnostics._advice import NEVER_EDIT, blocked, runbook
from kfix_diagnostics._bans import starts
from kfix_diagnostics._evidence import assignment_row, live_row
from kfix_diagnostics._explained import explained_by
from kfix_diagnostics._words import are, has, per_topic, start_any

CODE = "KFX121"


def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    groups: dict[tuple[int, ...], list[TopicPartition]] = {}
    for row in rows:
        if case.background.authority and not _unreadable(row.tp, case):
            dead = () if row.n_live_replicas else tuple(sorted(case.assignment(row.tp).replicas))
            groups.setdefault(dead, []).append(row.tp)
    for dead, tps in sorted(groups.items()):
        yield _finding(dead, tps, case)


def _unreadable(tp: TopicPartition, case: CaseFile) -> bool:
    """Returns whether the state znode may be there and could not be decoded; beyond some, sources name none."""
    path = f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state"
    return any(
        not source.ok and (source.name.endswith(path) or source.name == "znodes") for source in case.snapshot.sources
    )


def _finding(dead: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> Finding:
    why = f": all its replicas are on {brokers_named(dead)}, which {are(len(dead))} not alive" if dead else ""
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL,
        obj=f"replicas on {brokers_named(dead)}" if dead else "topics in ZooKeeper",
        summary=f"{per_topic(tps)} {has(len(tps))} replicas in ZooKeeper, but the controller has never created "
        f"{'it' if len(tps) == 1 else 'them'}{why if len(tps) == 1 else why.replace('its', 'their')}",
        cause=_cause(dead),
        evidence=(
            *assignment_row(case, tps[0]),
            Evidence("ZooKeeper", f"state of {tps[0]}", "does not exist"),
            Evidence("brokers", str(tps[0]), "not known"),
            *live_row(case),
        ),
        blocked=blocked(case, tps),
        remedies=tuple(_remedies(dead, case)),
        never=(NEVER_EDIT,),
        partitions=tuple(tps),
        follows=explained_by(dead, case),
    )


def _cause(dead: tuple[int, ...]) -> Cause:
    if dead:
        return Cause("no replica was alive when the partition was to be created", Confidence.LIKELY)
    return Cause("the controller did not process the change to the topic", Confidence.POSSIBLE)


def _remedies(dead: tuple[int, ...], case: CaseFile) -> Iterator[Remedy]:
    if dead:
        text = f"{start_any(dead, case.frozen)}: the controller creates the partition once one of its replicas is alive"
        yield starts(Remedy(text), dead)
        return
    yield Remedy("Read the controller's log (controller.log) for the topic: it shows why the partition was not created")
    yield runbook(case, "controller-reelect", "Force the election of another controller: it creates what is missing")


CHECK = PartitionCheck(
    code=CODE,
    slug="partition-not-created",
    title="a partition that no controller has created",
    severity=Severity.CRITICAL,
    rows="leader == -2 and n_views == 0 and not zk_known and not deleting",
    describe=describe,
    debounce=Debounce.HELD,
    scope=Scope.ZOOKEEPER,
)
