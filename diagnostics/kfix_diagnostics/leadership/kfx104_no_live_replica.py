"""KFX104 no-live-replica: no leader and no live replica, so no election can help.

Why it matters
    No election of any kind can help, not even an unclean one: there is no replica to elect. With __consumer_offsets at
    replication factor 1, one dead broker blocks every consumer group whose offsets it holds, while all other brokers
    are healthy.

How kfix knows
    None of the broker ids in the assignment is registered, or all are fenced. A broker that runs all the same is not
    started a second time (KFX814, KFX403).

Remedies, safest first
    If unclean.leader.election.enable is true, set it to false on the topic first: otherwise Kafka elects the replica
    that starts first, even if it lacks records. Start one of the assigned brokers, preferably one in the ISR. If Kafka
    4 forgot which replicas are eligible to lead, start all of them: the longest log is then elected (KFX103).
    Afterwards raise the replication factor to 3 by a reassignment: the current replica first, spread over racks,
    preferred leaders rotated; raise the replication factor before min.insync.replicas. offsets.topic.replication.factor
    takes effect only when the topic is created.

Do not
    Do not trigger an unclean election, do not delete the topic or its log directories, do not start a broker with that
    id and an empty disk.

Sources
    Kafka 2.7.1: Election.scala considers only live assigned replicas; KIP-115. If the id will never come back, see
    KFX105. See docs/facts/controller.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, PartitionCheck, Rows
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.finding import Cause, Confidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import brokers_named, continued, either, has, per_topic, topics
from kfix_diagnostics._advice import blocked, runbook, save_from_disk, start
from kfix_diagnostics._bans import moves, no_unclean_election, starts
from kfix_diagnostics._evidence import assignment_row, live_row, probe_rows, state_row
from kfix_diagnostics._explained import explained_by, find_out_why, running, runs_but, which_runs
from kfix_diagnostics._words import left_ago, start_any
from kfix_diagnostics.leadership._eligible import with_isr
from kfix_diagnostics.leadership._empty_isr import describe_empty_isr
from kfix_diagnostics.leadership._unclean import allowed, elected_at_start, outside


@PartitionCheck(
    severity=Severity.CRITICAL,
    rows="leaderless and n_live_replicas == 0 and n_live_isr == 0 and n_unknown_replicas < n_replicas and not deleting"
    " and not zk_lacks",
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    found: dict[tuple[tuple[int, ...], str], list[TopicPartition]] = {}
    yield from describe_empty_isr("KFX104", rows, case)
    for row in with_isr(rows, case):
        risky = allowed(row, case) if case.isr(row.tp) and outside([row.tp], case) else ""
        found.setdefault((tuple(sorted(case.assignment(row.tp).replicas)), risky), []).append(row.tp)
    for (replicas, risky), tps in found.items():
        finding = _down(replicas, tps, case)
        yield elected_at_start(finding, case, risky) if risky else finding


def _down(replicas: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> Finding:
    stuck = blocked(case, tps)
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"replicas on {brokers_named(replicas)}",
        summary=f"{per_topic(tps)} {has(topics(tps))} no leader and no live replica: all replicas are on "
        f"{brokers_named(replicas)}{which_runs(replicas, running(replicas, case), case)}",
        cause=_cause(replicas, tps, case),
        evidence=(
            *state_row(case, tps[0]),
            *assignment_row(case, tps[0]),
            *live_row(case),
            *(probe_rows(case, tps) if stuck.groups else ()),
        ),
        blocked=stuck,
        remedies=tuple(_remedies(replicas, tps, case)),
        never=(
            "Do not trigger an unclean election: it cannot help, because no assigned replica is alive",
            "Do not delete the topic or its log directories, and do not start that broker with an empty disk",
        ),
        forbids=(no_unclean_election(tps),),
        partitions=tuple(tps),
        follows=explained_by(replicas, case),
    )


def _cause(replicas: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> Cause:
    if up := running(_complete(replicas, tps, case), case):
        return Cause(runs_but(up, case), Confidence.CERTAIN)
    alone = "the only broker with a copy" if len(replicas) == 1 else "the last broker with a copy"
    return Cause(f"{alone} left{left_ago(replicas, case)}", Confidence.CERTAIN)


def _remedies(replicas: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> Iterator[Remedy]:
    if up := running(_complete(replicas, tps, case), case):
        then = "Once that is repaired, an in-sync replica there leads again and no data is lost"
        yield find_out_why(up, case, then)
        # One outside the ISR might be elected before.
        if rest := tuple(b for b in _complete(replicas, tps, case) if b not in case.shut_out):
            yield starts(Remedy(f"Also {continued(_whom(rest, tps, case))}"), _chosen(rest, tps, case))
        return
    text = f"{_whom(replicas, tps, case)}. No data is lost, and nothing else helps"
    yield starts(runbook(case, "isr-dead", text), _chosen(replicas, tps, case))
    yield Remedy(f"If {either(replicas)} was re-created under another id: start it with the old id and the old disk")
    yield from save_from_disk(tps, _holders(tps, case))
    if len(replicas) == 1:
        yield moves(
            "Afterwards, to prevent this: raise the replication factor to 3 with a reassignment that spreads "
            "replicas over racks"
        )


def _complete(replicas: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> tuple[int, ...]:
    """Returns those of the replicas that are in the ISR of a partition; all of them where no ISR is known."""
    return tuple(b for b in replicas if any(b in case.isr(tp) for tp in tps)) or replicas


def _holders(tps: list[TopicPartition], case: CaseFile) -> set[int]:
    """Returns the brokers that are in the ISR of every offsets partition, whose disks hold all their offsets."""
    isrs = [set(case.isr(tp)) for tp in tps if tp.topic == OFFSETS_TOPIC]
    return set.intersection(*isrs) if isrs else set()


def _in_sync(tps: list[TopicPartition], case: CaseFile) -> list[set[int]]:
    return [isr for tp in tps if (isr := set(case.isr(tp)) - set(case.shut_out))]


def _chosen(replicas: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> tuple[int, ...]:
    """Returns the brokers any of which is in sync for all partitions, otherwise all that are in the ISR of one."""
    isrs = _in_sync(tps, case)
    return tuple(sorted(set.intersection(*isrs) or set.union(*isrs))) if isrs else replicas


def _whom(replicas: tuple[int, ...], tps: list[TopicPartition], case: CaseFile) -> str:
    """Returns what to start: any broker that is in sync for all partitions, otherwise one of the ISR of each."""
    chosen = _chosen(replicas, tps, case)
    if all(isr >= {*chosen} for isr in _in_sync(tps, case)):
        return start_any(chosen, case.frozen)
    return f"{start(chosen, case)}: each partition needs one of its in-sync replicas, and none has all of them"
