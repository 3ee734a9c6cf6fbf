"""KFX501 stale-reassignment: a reassignment waits for a dead broker, or has made no progress for an hour.

Why it matters
    It ends only when every new replica is in sync. Until then other tools refuse to plan, preferred elections are held
    back (before 3.4), throttles stay on, and the topic cannot be deleted.

How kfix knows
    The list of reassignments under way against the registrations, and the age of the partition's state. KRaft keeps no
    such age: there, only a reassignment that waits for a dead broker is found, and any other is a note. A reassignment
    that adds and removes the same replica is KFX504: no start of a broker ends it.

Remedies, safest first
    Start the broker it waits for. If that broker will not come back, reassign again to live brokers, or cancel; cancel
    only where the original replicas are alive.

Do not
    Do not cancel where the original replicas are dead: the partition is left without a leader (KAFKA-14424). Do not
    delete /admin/reassign_partitions.

Sources
    Kafka 2.7.1: KafkaController.isReassignmentComplete; KAFKA-14424. See docs/facts/operations.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import Debounce, PartitionCheck, Rows
from kfix.derive.partition_facts import PartitionFacts
from kfix.model.diagnosis.finding import Cause, ChangeKind, Confidence, Evidence, Finding, Remedy, Severity
from kfix.wording import ago, brokers_named, several
from kfix_diagnostics._advice import runbook, start
from kfix_diagnostics._bans import starts
from kfix_diagnostics._evidence import live_row, state_row
from kfix_diagnostics._explained import explained_by
from kfix_diagnostics._words import are, ids, per_topic

CODE = "KFX501"


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
        slow = [row for row in found if row.state_age > 3600]
        if dead or slow:
            yield _waiting(dead, found if dead else slow, case)


def _waiting(dead: tuple[int, ...], rows: list[PartitionFacts], case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    oldest = max(row.state_age for row in rows)
    why = (
        f"waits for {brokers_named(dead)}, which {are(len(dead))} not alive"
        if dead
        else f"has made no progress for {ago(oldest)}"
    )
    return Finding(
        code=CODE,
        severity=Severity.INFO if case.calm(dead) else Severity.WARNING,
        obj=f"waits for {brokers_named(dead)}" if dead else "no progress",
        summary=f"the reassignment of {per_topic(tps)} {why}",
        cause=Cause(
            f"a new replica belongs on {brokers_named(dead)}, which {are(len(dead))} not alive"
            if dead
            else "a new replica does not catch up",
            Confidence.CERTAIN if dead else Confidence.POSSIBLE,
        ),
        evidence=(*(_row(row, case) for row in rows[:3]), *state_row(case, tps[0]), *live_row(case)),
        remedies=tuple(_remedies(dead, len(tps), case)),
        never=(
            "Do not cancel where the original replicas are dead: the partition is left without a leader",
            "Do not delete /admin/reassign_partitions",
        ),
        partitions=tps,
        follows=explained_by(dead, case),
        headline=f"the reassignment of {per_topic(tps)} waits for {brokers_named(dead)}" if case.calm(dead) else "",
    )


def _row(row: PartitionFacts, case: CaseFile) -> Evidence:
    move = case.assignment(row.tp)
    said = f"replicas {ids(move.replicas)}, adding {ids(move.adding)}, removing {ids(move.removing)}"
    return Evidence("reassignment", str(row.tp), said)


def _remedies(dead: tuple[int, ...], partitions: int, case: CaseFile) -> Iterator[Remedy]:
    if dead:
        yield starts(Remedy(f"{start(dead, case)}. The reassignment then continues by itself"), dead)
        text = "Cancel it. The runbook refuses where the original replicas are dead"
        yield runbook(case, "cancel-reassignment", text)
        if not case.kraft:  # Kafka 4.3 never ends a move to a subset of the target of a move under way.
            yield Remedy(
                f"Or reassign {several(partitions, 'partition')} again, to live brokers",
                changes=(ChangeKind.REASSIGNMENT,),
            )
        return
    yield Remedy("Check whether the new replica grows: a throttle that is too low, or a full disk, stops it")


CHECK = PartitionCheck(
    code=CODE,
    slug="stale-reassignment",
    title="a reassignment waits for a dead broker, or makes no progress",
    severity=Severity.WARNING,
    rows="reassigning and not deleting and (n_live_replicas >= 0 and n_live_replicas < n_replicas or state_age > 3600)",
    describe=describe,
    debounce=Debounce.HELD,
)
