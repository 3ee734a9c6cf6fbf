"""KFX501 stale-reassignment: a reassignment waits for a dead broker, or makes no progress.

Why it matters
    A reassignment ends only when every new replica is in sync. Until then other tools refuse to plan, preferred
    elections are held back (before 3.4), throttles stay on, and the topic cannot be deleted.

How kfix knows
    kfix compares the list of reassignments under way with the registrations. Progress means that the new replicas grow:
    kfix remembers their log ends. It reports a reassignment whose new replicas have not gained a record for ten minutes
    while no other reassignment to these brokers has, or for an hour: under a throttle, replicas are copied one after
    the other. With ZooKeeper the age of the partition's state shows it, too, if no log end is known. One snapshot does
    not show progress, and on KRaft nothing has a date: there, a reassignment is found only if an earlier snapshot on
    this host shows it. Diagnose again, or keep `kfix watch` running. A reassignment that adds and removes the same
    replica is KFX504: starting a broker does not end it.

Remedies, safest first
    Start the broker it waits for. If that broker will not come back, reassign again to live brokers, or cancel, which
    is proposed only if an original replica is alive and in sync. Without progress: look for a throttle, then at the
    broker's disk.

Do not
    Do not cancel if the original replicas are dead: the partition is left without a leader (KAFKA-14424). Do not delete
    /admin/reassign_partitions.

Sources
    Kafka 2.7.1: KafkaController.isReassignmentComplete; KAFKA-14424. See docs/facts/operations.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, Debounce, PartitionCheck, Rows
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.diagnosis.finding import Cause, ChangeKind, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, at_least, brokers_named, has, ids, per_topic, several
from kfix_diagnostics._advice import runbook
from kfix_diagnostics._evidence import live_row, state_row
from kfix_diagnostics._explained import bring_up, explained_by, running, which_runs
from kfix_diagnostics.leftovers._cancel import origin_in_sync

#: Seconds without a record after which a reassignment stands still, and after which it does although others progress.
_STILL, _LONG = 600.0, 3600.0


@PartitionCheck(rows="reassigning and not deleting", debounce=Debounce.HELD)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    by_dead: dict[tuple[int, ...], list[PartitionFacts]] = {}
    for row in rows:
        assignment = case.assignment(row.tp)
        if case.kraft and assignment.contradicted:
            continue  # KFX504: no start of a broker ends it
        target = [b for b in assignment.replicas if b not in assignment.removing]
        # One finding a broker: its key stays when another comes back.
        keys: list[tuple[int, ...]] = [(broker,) for broker in case.away(target)]
        for key in keys or [()]:
            by_dead.setdefault(key, []).append(row)
    for dead, found in sorted(by_dead.items()):
        slow = [row for row in found if _stands_still(row, case)]
        if dead or slow:
            yield _waiting(dead, found if dead else slow, case)


def _stands_still(row: PartitionFacts, case: CaseFile) -> bool:
    age = _without_progress(row, case)
    return age > _LONG or (age > _STILL and row.tp in case.still_for and not _others_progress(row.tp, case))


def _without_progress(row: PartitionFacts, case: CaseFile) -> float:
    """Returns the seconds without progress; the log ends outweigh the age of the state, which a long copy has, too."""
    return case.still_for.get(row.tp, float(row.state_age))


def _others_progress(tp: TopicPartition, case: CaseFile) -> bool:
    """Returns whether another reassignment to one of its new replicas' brokers gains records, or may."""
    added = set(case.assignment(tp).adding)
    others = (other for other in case.being_moved if other != tp and added & set(_late(other, case)))
    return any(case.still_for.get(other, 0.0) <= _STILL for other in others)


def _late(tp: TopicPartition, case: CaseFile) -> tuple[int, ...]:
    """Returns the replicas that a reassignment adds and that are not in sync yet."""
    return tuple(b for b in case.assignment(tp).adding if b not in case.isr(tp))


def _waiting(dead: tuple[int, ...], rows: list[PartitionFacts], case: CaseFile) -> Finding:
    tps, up = tuple(row.tp for row in rows), running(dead, case)
    oldest = max(_without_progress(row, case) for row in rows)
    why = (
        f"waits for {brokers_named(dead)}{which_runs(dead, up, case) or _not_alive(dead)}"
        if dead
        else f"has made no progress for {at_least(oldest)}"
    )
    return Finding(
        severity=Severity.INFO if case.calm(dead) else Severity.WARNING,
        obj=f"waits for {brokers_named(dead)}" if dead else "no progress",
        summary=f"the reassignment of {per_topic(tps)} {why}",
        cause=Cause(
            f"a new replica is assigned to {brokers_named(dead)}{which_runs(dead, up, case) or _not_alive(dead)}"
            if dead
            else _unmoved(rows, case),
            Confidence.CERTAIN if dead else Confidence.POSSIBLE,
        ),
        evidence=(*(each for row in rows[:3] for each in _rows(row, case)), *state_row(case, tps[0]), *live_row(case)),
        remedies=tuple(_remedies(dead, tps, case)),
        never=(
            "Do not cancel where the original replicas are dead: the partition is left without a leader",
            "Do not delete /admin/reassign_partitions",
        ),
        partitions=tps,
        follows=explained_by(dead, case),
        headline=f"the reassignment of {per_topic(tps)} waits for {brokers_named(dead)}" if case.calm(dead) else "",
    )


def _not_alive(dead: tuple[int, ...]) -> str:
    return f", which {are(len(dead))} not alive"


def _unmoved(rows: list[PartitionFacts], case: CaseFile) -> str:
    known = [row.tp for row in rows if row.tp in case.still_for]
    brokers = sorted({broker for tp in known for broker in _late(tp, case)})
    if not brokers:
        return "a new replica does not catch up"
    return f"{brokers_named(brokers)} {has(len(brokers))} fetched nothing since: a throttle, a full disk or a bad link"


def _rows(row: PartitionFacts, case: CaseFile) -> Iterator[Evidence]:
    move = case.assignment(row.tp)
    said = f"replicas {ids(move.replicas)}, adding {ids(move.adding)}, removing {ids(move.removing)}"
    yield Evidence("reassignment", str(row.tp), said)
    if (age := case.still_for.get(row.tp, 0.0)) > _STILL:
        ends = case.log_ends(row.tp)
        late = ", ".join(f"{ends[b].end} on broker {b}" for b in _late(row.tp, case) if b in ends)
        leader = f"; {ends[row.leader].end} on leader {row.leader}" if row.leader in ends else ""
        yield Evidence("earlier snapshots", f"{row.tp}, log end", f"{late}, the same since{leader}", age)


def _remedies(dead: tuple[int, ...], tps: tuple[TopicPartition, ...], case: CaseFile) -> Iterator[Remedy]:
    if dead:
        yield from bring_up(dead, case, "The reassignment then continues by itself")
        safe = [tp for tp in tps if origin_in_sync(tp, case)]
        if safe:
            which = "it" if len(safe) == len(tps) else per_topic(safe)
            yield runbook(
                case,
                "cancel-reassignment",
                f"Cancel {which}. The runbook leaves out where no original replica is alive and in sync",
            )
        if not case.kraft:  # Kafka 4.3 never ends a move to a subset of the target of a move under way.
            yield Remedy(
                f"Or reassign {several(len(tps), 'partition')} again, to live brokers",
                changes=(ChangeKind.REASSIGNMENT,),
            )
        return
    yield Remedy("Check whether the new replica grows: a throttle that is too low, or a full disk, stops it")
