"""KFX121 partition-not-created: a partition in ZooKeeper that no broker knows.

Why it matters
    No client can write to it or read it, and no listing of Kafka's own tools calls it offline: clients see a topic with
    fewer partitions, or none, and time out.

How kfix knows
    The topic's znode lists the partition, no broker that answered knows it, and its topic is not being deleted. Either
    its state znode does not exist: no controller has ever created it. Or the state names a live leader, and that broker
    does not know the partition either: no controller has told it. The controller does both within moments, so two
    snapshots without a write in between must show it. If brokers may hide topics from this client, the second is not
    judged.

Remedies, safest first
    If no replica is alive: start one of them. A controller of ZooKeeper creates a partition once one of its replicas
    has registered. Otherwise the controller did not process the change to the topic: its log shows why, and another
    controller reads all topics, creates what is missing, and informs the brokers.

Do not
    Do not create the state znode by hand, and do not delete the topic's znode: the controller keeps its own copy.

Sources
    Kafka 2.7.1: PartitionStateMachine.initializeLeaderAndIsrForPartitions writes no state where no replica is alive,
    and sends nothing to brokers where the state is there already (NODEEXISTS); both tried on real brokers. See
    docs/facts/controller.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, PartitionCheck, Rows, Scope
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, brokers_named, has, per_topic, them, topics
from kfix_diagnostics._advice import NEVER_EDIT, blocked, runbook
from kfix_diagnostics._bans import starts
from kfix_diagnostics._evidence import assignment_row, live_row, state_row
from kfix_diagnostics._explained import explained_by
from kfix_diagnostics._words import start_any


@PartitionCheck(
    severity=Severity.CRITICAL,
    rows="n_views == 0 and not deleting and (leader == -2 or zk_leader >= 0 and not leaderless)",
    scope=Scope.ZOOKEEPER,
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    groups: dict[tuple[int, ...], list[TopicPartition]] = {}
    untold = []
    for row in rows:
        if row.zk_known:
            # Only a leader that answers shows that no broker leads it.
            if row.leader in case.views and not case.topics_may_be_hidden:
                untold.append(row.tp)
        elif case.background.authority and not _unreadable(row.tp, case):
            dead = () if row.n_live_replicas else tuple(sorted(case.assignment(row.tp).replicas))
            groups.setdefault(dead, []).append(row.tp)
    for dead, tps in sorted(groups.items()):
        yield _finding(dead, tps, case)
    if untold:
        yield _untold(untold, case)


def _unreadable(tp: TopicPartition, case: CaseFile) -> bool:
    """Returns whether the state znode may be there and could not be decoded; beyond some, sources name none."""
    path = f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state"
    return any(
        not source.ok and (source.name.endswith(path) or source.name == "znodes") for source in case.snapshot.sources
    )


def _finding(dead: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> Finding:
    why = f": all its replicas are on {brokers_named(dead)}, which {are(len(dead))} not alive" if dead else ""
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"replicas on {brokers_named(dead)}" if dead else "topics in ZooKeeper",
        summary=f"{per_topic(tps)} {has(topics(tps))} replicas in ZooKeeper, but the controller has never created "
        f"{them(len(tps))}{why if len(tps) == 1 else why.replace('its', 'their')}",
        cause=Cause("no replica was alive when the partition was to be created")
        if dead
        else Cause("the controller did not process the change to the topic", Confidence.POSSIBLE),
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


def _untold(tps: list[TopicPartition], case: CaseFile) -> Finding:
    first = tps[0]
    leaders = sorted({state.leader for tp in tps if (state := case.state(tp)) is not None})
    one = len(tps) == 1
    return Finding(
        severity=Severity.CRITICAL,
        obj="leaders in ZooKeeper",
        summary=f"{per_topic(tps)} {has(topics(tps))} {'a leader' if one else 'leaders'} in ZooKeeper "
        f"({brokers_named(leaders)}), but no broker knows {'it' if one else 'them'}: producers and consumers time out",
        cause=Cause(
            "the controller has not told the brokers: it failed while it created the topic, or it does not act"
        ),
        evidence=(
            *state_row(case, first),
            *assignment_row(case, first),
            Evidence(brokers_named(case.views), f"metadata of {first}", "does not know the partition"),
            *live_row(case),
        ),
        blocked=blocked(case, tps),
        remedies=(
            Remedy("Read the controller's log (controller.log) for the topic: it says what the controller did not do"),
            runbook(
                case, "controller-reelect", "Have another controller elected: it tells the brokers what is recorded"
            ),
        ),
        never=(NEVER_EDIT, "Do not delete the topic's znode: the partition may have records on the brokers' disks"),
        partitions=tuple(tps),
        follows=(f"KFX202:controller {case.controller.broker}",)
        if case.nothing_known and case.controller is not None
        else (),
    )


def _remedies(dead: tuple[int, ...], case: CaseFile) -> Iterator[Remedy]:
    if dead:
        text = f"{start_any(dead, case.frozen)}: the controller creates the partition once one of its replicas is alive"
        yield starts(Remedy(text), dead)
        return
    yield Remedy("Read the controller's log (controller.log) for the topic: it shows why the partition was not created")
    yield runbook(case, "controller-reelect", "Force the election of another controller: it creates what is missing")
