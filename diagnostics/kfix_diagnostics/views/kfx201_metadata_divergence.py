"""KFX201 metadata-divergence: ZooKeeper's record differs from the metadata of the brokers.

Why it matters
    Clients notice nothing, no metric changes, and no stock tool compares the two. But when the broker that ZooKeeper
    names as leader dies, the partition is left with leader -1 and no election follows (KFX101): the controller removes
    the dead replica from the record, finds that it is the leader there, and has another leader in its own memory. Until
    then the leader cannot change its ISR either.

How kfix knows
    Leader and leader epoch of the state znode against the metadata of each broker, asked one by one. While ZooKeeper is
    the authority, the znode is what a new controller will believe.

Remedies, safest first
    A reassignment to the same replica list makes the controller read the state again and send it to the brokers: the
    recorded leader takes over, one epoch later. `kfix runbook apply metadata-divergence` does this after comparing the
    log ends. A new controller does the same for all partitions at once.

Do not
    Do not trigger an election: preferred and unclean both answer "not needed" and change nothing. Do not kill or
    restart the recorded leader before this is repaired. Do not edit the znode back.

Sources
    Kafka 2.7.1: KafkaController.updateLeaderEpoch re-reads ZooKeeper. Reproduced on real brokers: 30 of 30 stock
    commands report this state as healthy. Up to 2.0 a superseded controller could write such a record; from 2.1 on
    (KAFKA-6082) its writes are fenced, so the writer is a person, a script, a restore, or ZooKeeper itself. See
    docs/facts/zookeeper.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, PartitionCheck, Rows, Scope
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.diagnosis.finding import Cause, ChangeKind, Confidence, Evidence, FactValue, Finding, Remedy
from kfix.core.snapshot.snapshot import PartitionState
from kfix.core.wording import are, brokers_named, either, ids, per_topic, several, some
from kfix_diagnostics._advice import NEVER_EDIT, runbook
from kfix_diagnostics._bans import another_controller, no_election, no_restart
from kfix_diagnostics._evidence import assignment_row, live_row, log_end_row, state_row, view_rows
from kfix_diagnostics._words import MANY


@PartitionCheck(
    rows="zk_known and not zk_agrees and n_views > 0 and not leaderless and leader >= 0 and not deleting",
    scope=Scope.ZOOKEEPER,
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    if len(rows) > MANY:
        yield _many(rows, case)
        return
    for row in rows:
        yield _one(row, case)


def _one(row: PartitionFacts, case: CaseFile) -> Finding:
    tp = row.tp
    own = ids(case.assignment(tp).replicas)
    return Finding(
        obj=str(tp),
        summary=f"{tp}: ZooKeeper records leader {row.zk_leader} (epoch {row.zk_leader_epoch}, "
        f"ISR {ids(case.isr(tp))}), but {_who(row, case)} leader {row.view_leader} (epoch {row.leader_epoch}). "
        f"Clients work until broker {row.zk_leader} dies",
        cause=_cause(row, case),
        evidence=_evidence(row, case),
        remedies=tuple(_remedies(case, f"By hand: compare the log ends, then reassign {tp} to its own replicas {own}")),
        never=_never(row.zk_leader),
        forbids=(no_election([row.tp]), no_restart([row.zk_leader])),
        partitions=(tp,),
        facts=_facts(row, case),
        token=f"{row.zk_version}/{row.leader_epoch}",
    )


def _who(row: PartitionFacts, case: CaseFile) -> str:
    seen = case.views_of(row.tp)
    return f"{brokers_named(seen)} {'reports' if len(seen) == 1 else 'report'}"


def _facts(row: PartitionFacts, case: CaseFile) -> dict[str, FactValue]:
    return {
        "topic": row.topic,
        "partition": row.partition,
        "zk_leader": row.zk_leader,
        "zk_epoch": row.zk_leader_epoch,
        "view_leader": row.view_leader,
        "view_epoch": row.leader_epoch,
        "assignment": case.assignment(row.tp).replicas,
        "isr": case.isr(row.tp),
    }


def _evidence(row: PartitionFacts, case: CaseFile) -> tuple[Evidence, ...]:
    tp = row.tp
    state = case.state(tp)
    foreign = Evidence(
        case.zookeeper_name,
        "who wrote the record",
        f"controller epoch {state.controller_epoch}, after epoch {case.controller.epoch} had begun"
        if state is not None and case.controller is not None
        else "",
    )
    return (
        *state_row(case, tp),
        *view_rows(case, tp),
        *((foreign,) if _superseded(state, case) else ()),
        *assignment_row(case, tp),
        *log_end_row(case, tp),
        *live_row(case),
        Evidence("forecast", f"if broker {row.zk_leader} dies", _forecast(row, case)),
    )


def _superseded(state: PartitionState | None, case: CaseFile) -> bool:
    """Returns whether a superseded controller wrote it: suspicious only with a divergence (docs/facts/zookeeper.md)."""
    node = case.controller
    return (
        state is not None
        and node is not None
        and state.controller_epoch < node.epoch
        and state.mzxid > node.epoch_mzxid > 0
    )


def _forecast(row: PartitionFacts, case: CaseFile) -> str:
    isr = case.isr(row.tp)
    rest = tuple(b for b in isr if b != row.zk_leader) if len(isr) > 1 else isr
    if rest == isr:
        return f"leader -1, ISR {ids(rest)}: only an unclean election would remain"
    return f"leader -1, ISR {ids(rest)}, and no election follows although {brokers_named(rest)} {are(len(rest))} alive"


def _cause(row: PartitionFacts, case: CaseFile) -> Cause:
    text = "ZooKeeper's record differs from the controller's memory: something else has written it"
    if row.leader_epoch > row.zk_leader_epoch:
        text = "ZooKeeper's record is older than the metadata of the brokers: it may come from a restored backup"
    if row.n_views < 2 <= len(case.live or ()):
        return Cause(f"{text}; only one broker answered, and its metadata may be stale", Confidence.POSSIBLE)
    return Cause(text)


def _remedies(case: CaseFile, by_hand: str) -> Iterator[Remedy]:
    text = (
        "Have the controller read the record again while all replicas are alive. The runbook may refuse: it compares "
        "the logs of the two leaders"
    )
    yield runbook(case, "metadata-divergence", text)
    yield Remedy(by_hand, changes=(ChangeKind.ELECTION,))
    yield another_controller(
        "Or force the election of another controller: it reads the records of all partitions again"
    )


def _never(leader: int) -> tuple[str, ...]:
    return (
        "Do not trigger an election: preferred and unclean both answer ELECTION_NOT_NEEDED and change nothing",
        f"Do not kill or restart broker {leader} before this is repaired",
        NEVER_EDIT,
    )


def _many(rows: Rows, case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    topics = sorted({tp.topic for tp in tps})
    leaders = sorted({row.zk_leader for row in rows})
    return Finding(
        obj=f"topic {topics[0]}" if len(topics) == 1 else "many topics",
        about="many partitions",
        summary=f"ZooKeeper's leader or leader epoch differs from what the brokers report for "
        f"{several(len(rows), 'partition')}: {per_topic(tps, counted=True)}. Clients work until {either(leaders)} dies",
        cause=_cause(rows[0], case),
        evidence=(*_evidence(rows[0], case), Evidence("all of them", "partitions", some(tps, 10))),
        remedies=tuple(_remedies(case, "By hand: reassign each partition to its own replicas")),
        never=_never(leaders[0]),
        forbids=(no_election(tps), no_restart(leaders[:1])),
        partitions=tps,
    )
