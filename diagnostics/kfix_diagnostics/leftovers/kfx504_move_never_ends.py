"""KFX504 move-never-ends: a reassignment adds and removes the same replica, and never ends.

Why it matters
    All brokers may be alive and all replicas in sync, and it still does not end. Until it is changed or cancelled,
    other tools refuse to plan, throttles stay on, and the partition keeps replicas that were to be removed.

How kfix knows
    The active controller lists the reassignment (ListPartitionReassignments), and a broker is among both its adding and
    its removing replicas. Kafka 4.3 gets there when, while a reassignment is under way, another one is sent to only
    some of its target replicas: it keeps the list of replicas that the first one adds, but never adds one that the
    second one removes.

Remedies, safest first
    Cancel it: the partition returns to its replicas from before the first reassignment, of which one must be alive and
    in sync. Or reassign it to the target of the first reassignment, which ends it, and only then to the replicas you
    want.

Do not
    Do not wait, and do not restart brokers for it. Do not send the same reassignment again, nor one to all of the
    present replicas: Kafka accepts both, but nothing changes. Do not cancel if the original replicas are dead: with
    unclean elections allowed, Kafka deletes the only live copy (KAFKA-14424).

Sources
    Kafka 4.3.1: PartitionReassignmentReplicas; Kafka 3.9.2 ends such a reassignment at once. Reproduced on real
    brokers. See docs/facts/kraft.md.
"""

from collections.abc import Callable, Iterator, Sequence

from kfix.core.derive.checks import CaseFile, Debounce, PartitionCheck, Rows, Scope
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Cause, ChangeKind, Confidence, Evidence, Finding, Remedy
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.core.wording import brokers_named, ids, per_topic, several, some
from kfix_diagnostics._advice import runbook
from kfix_diagnostics._evidence import live_row, view_rows
from kfix_diagnostics.leftovers._cancel import origin, origin_in_sync

_SHOWN = 3


@PartitionCheck(rows="reassigning and not deleting", debounce=Debounce.HELD, scope=Scope.KRAFT)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    if not case.kraft:
        return
    found = grouped((row.topic, row.tp) for row in rows if case.assignment(row.tp).contradicted)
    for topic, tps in sorted(found.items()):
        yield _never_ends(topic, tuple(sorted(tps)), case)


def _never_ends(topic: str, tps: tuple[TopicPartition, ...], case: CaseFile) -> Finding:
    both = brokers_named(b for tp in tps for b in case.assignment(tp).contradicted)
    return Finding(
        obj=f"topic {topic}",
        summary=f"the reassignment of {per_topic(tps)} never ends: it both adds and removes a replica on {both}",
        cause=Cause(
            "while a reassignment was under way, another one was started to only some of its target replicas: Kafka "
            "4.3 keeps the replicas that the first one adds, but never adds one that the second one removes",
            Confidence.CERTAIN,
        ),
        evidence=(*(_row(tp, case) for tp in tps[:_SHOWN]), *view_rows(case, tps[0]), *live_row(case)),
        remedies=tuple(_remedies(tps, case)),
        never=(
            "Do not wait for it, and do not restart brokers because of it: it does not end by itself",
            (
                "Do not reassign to the same replicas again, nor to all present ones: Kafka accepts it, but it has no "
                "effect"
            ),
            "Do not cancel where the original replicas are dead: the partition is left without a leader",
        ),
        partitions=tps,
    )


def _row(tp: TopicPartition, case: CaseFile) -> Evidence:
    move = case.assignment(tp)
    said = f"replicas {ids(move.replicas)}, adding {ids(move.adding)}, removing {ids(move.removing)}"
    return Evidence("reassignment", str(tp), f"{said}: {brokers_named(move.contradicted)} in both")


def _remedies(tps: tuple[TopicPartition, ...], case: CaseFile) -> Iterator[Remedy]:
    safe = [tp for tp in tps if origin_in_sync(tp, case)]
    if safe:
        back = "the partitions return" if len(tps) > 1 else f"{tps[0]} returns"
        text = f"Cancel it: {back} to {_lists(safe, case, origin)}. Then reassign to the replicas you want"
        yield runbook(case, "cancel-reassignment", text)
    first = "Or reassign" if safe else "Reassign"
    ending = _lists(tps, case, lambda move: move.ending_target)
    yield Remedy(
        f"{first} {several(len(tps), 'partition')} to {ending} (kafka-reassign-partitions.sh with "
        "--additional), which ends the reassignment, and only then to the replicas you want",
        changes=(ChangeKind.REASSIGNMENT,),
    )


def _lists(tps: Sequence[TopicPartition], case: CaseFile, of: Callable[[Assignment], tuple[int, ...]]) -> str:
    lists = [ids(of(case.assignment(tp))) for tp in tps]
    if len(tps) == 1:
        return lists[0]
    return some([f"{found} ({tp})" for tp, found in zip(tps, lists, strict=True)], _SHOWN)
