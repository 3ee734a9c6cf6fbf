"""Judging: one pure function from one snapshot, or two, to a diagnosis.

A fault that an ordinary election or a starting broker also shows for some seconds counts only if it persists: either
its evidence is older than the debounce, or a second snapshot shows it again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kfix.core.criteria import CRITERIA, Criteria
from kfix.core.derive.casefile import CaseFile, open_case
from kfix.core.derive.checks import ClusterCheck, Debounce, PartitionCheck, Rows
from kfix.core.derive.grouping import grouped
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.diagnosis.finding import Diagnosis, Finding, Remedy, Severity
from kfix.core.snapshot.group_reading import by_group
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import PACE
from kfix.core.wording import are, brokers_named, per_topic, several, topics, were
from kfix_diagnostics import ALL
from kfix_diagnostics._only_copy import named
from kfix_diagnostics.catalogue import cluster_checks, matcher, partition_checks, predicate_of, predicates
from kfix_diagnostics.folding import fold
from kfix_diagnostics.holding import held_back
from kfix_diagnostics.sources._unread import broker_of, text_notes, unread

_LACK_REPLICAS = frozenset({"KFX301", "KFX302", "KFX304"})


@dataclass(frozen=True, slots=True)
class Examination:
    """A snapshot evaluated once: which rows matched which check. Both `settle_seconds` and `diagnose` accept it."""

    case: CaseFile
    hits: tuple[tuple[PartitionCheck, Rows], ...]
    cluster: tuple[tuple[ClusterCheck, tuple[Finding, ...]], ...]


def examine(snapshot: Snapshot, criteria: Criteria = CRITERIA) -> Examination:
    return examine_case(open_case(snapshot, criteria))


def examine_case(case: CaseFile) -> Examination:
    """Gives each check the rows that it declares, and no others; a stored cluster is judged by the same loop."""
    prevention = case.criteria.prevention
    checks = partition_checks(prevention=prevention)
    matched = matcher(prevention=prevention)(case.partitions.candidates(predicates(checks)), case.criteria.expected)
    hits = tuple((check, tuple(rows)) for check, rows in zip(checks, matched, strict=True) if rows)
    found = (
        (check, tuple(check.findings(_given(check, case), case))) for check in cluster_checks(prevention=prevention)
    )
    return Examination(case, hits, tuple((check, findings) for check, findings in found if findings))


def _given(check: ClusterCheck, case: CaseFile) -> Rows:
    condition = predicate_of(check)
    return () if condition is None else case.partitions.where(condition)


def settle_seconds(snapshot: Snapshot | Examination, criteria: Criteria = CRITERIA) -> float:
    """Returns the seconds to wait before a second snapshot; 0 if this one is enough."""
    seen = _examined(snapshot, criteria)
    debounce = seen.case.criteria.debounce
    alarms = ((check, f) for check, findings in seen.cluster for f in findings if f.severity > Severity.INFO)
    in_doubt = any(reading.needs_second for reading in seen.case.snapshot.group_readings)
    # A broker that is about to leave closes its connections first, and one may register after the brokers were asked.
    in_doubt = in_doubt or bool(seen.case.views and _unanswered(seen.case))
    if in_doubt or any(check.debounce is not Debounce.NONE and f.lasted < debounce for check, f in alarms):
        return debounce
    ages = [row.stable_for for check, rows in seen.hits if check.debounce is not Debounce.NONE for row in rows]
    pause = max((max(debounce - max(age, 0), 0.0) for age in ages if age <= debounce), default=0.0)
    return max(pause, min(debounce, PACE)) if _moves(seen) else pause


def _moves(seen: Examination) -> bool:
    """Returns whether a live replica is out of sync: only a second snapshot shows how fast it moves (KFX808)."""
    lacking = (rows for check, rows in seen.hits if check.code in _LACK_REPLICAS)
    return any(row.leader_live and row.n_live_replicas > row.n_live_isr for rows in lacking for row in rows)


def diagnose(
    snapshot: Snapshot | Examination, *, earlier: Snapshot | Examination | None = None, criteria: Criteria = CRITERIA
) -> Diagnosis:
    """Returns the diagnosis; without `earlier` all findings count, so ask `settle_seconds` first if one is enough."""
    seen = _examined(snapshot, criteria)
    before = None if earlier is None else _examined(earlier, criteria)
    findings = [*_of_partitions(seen, before), *_of_cluster(seen, before)]
    judged = seen.case.snapshot
    return Diagnosis(
        cluster=judged.cluster.id or judged.cluster.bootstrap or judged.origin or judged.cluster.name,
        taken_at=judged.taken_at,
        findings=fold(named(held_back(findings), seen.case)),
        could_not_read=tuple(_could_not_read(seen.case)),
        looked_at=_looked_at(seen.case),
        prevention=seen.case.criteria.prevention,
        vantages=judged.vantages,
        notes=tuple(_notes(seen.case)),
        left_out=tuple(_unjudged_groups(seen.case)),
        profile=judged.reached_by.profile,
        inapplicable={check.code: check.scope.value for check in ALL if not check.scope.covers(judged)},
    )


def _notes(case: CaseFile) -> Iterator[str]:
    moved = case.being_moved
    if moved:
        yield f"{per_topic(moved)} {are(topics(moved))} being reassigned"
    quorum = case.snapshot.quorum
    if quorum is not None and quorum.ignored_zookeeper:
        yield f"ZooKeeper at {quorum.ignored_zookeeper} was ignored: this cluster runs on KRaft"
    if case.snapshot.not_kept:
        yield f"this snapshot was not stored for later diagnoses: {case.snapshot.not_kept}"
    if case.snapshot.pasted is not None:
        yield from text_notes(case.snapshot.pasted)


def _unjudged_groups(case: CaseFile) -> Iterator[str]:
    """Yields how many groups were listed and not judged: they are too many, or a broker did not answer for them."""
    last = {name: found[-1] for name, found in by_group(case.snapshot.group_readings).items()}
    known = {name for name, each in last.items() if each.partitions is not None and not each.left_out}
    number = sum(not g.state or (g.positioned and g.name not in known) for g in case.snapshot.groups)
    if number:
        yield f"{several(number, 'group')} {were(number)} not judged"


def _could_not_read(case: CaseFile) -> Iterator[str]:
    if not case.snapshot.views and case.snapshot.zookeeper is None:
        yield "the cluster: this snapshot holds no broker and no ZooKeeper"
    yield from (f"{s.name}: {s.error or 'no answer'}" for s in unread(case))
    yield from case.snapshot.outdated
    if case.snapshot.pasted is None and (lost := _lost_answers(case)):
        their = "its answers" if len(lost) == 1 else "their answers"
        yield f"{brokers_named(lost)}: registered, and this snapshot does not hold {their}"


def _lost_answers(case: CaseFile) -> list[int]:
    """Returns the live brokers of which the snapshot has neither an answer nor an error: its file was changed."""
    named = {broker_of(source.name) for source in case.failed_sources}
    return sorted(_unanswered(case) - case.silent.keys() - named)


def _unanswered(case: CaseFile) -> frozenset[int]:
    """Returns the live brokers of which the snapshot has no answer; a pasted text has none of any."""
    return frozenset() if case.snapshot.pasted is not None else (case.live or frozenset()) - case.views.keys()


def _examined(snapshot: Snapshot | Examination, criteria: Criteria) -> Examination:
    return snapshot if isinstance(snapshot, Examination) else examine(snapshot, criteria)


def _of_partitions(seen: Examination, before: Examination | None) -> Iterator[Finding]:
    for check, rows in seen.hits:
        if before is not None and check.brokers is not None:
            yield from _of_replicas(check, rows, seen.case, before)
            continue
        settled, fresh = _settled(check, rows, before)
        if settled:
            yield from check.findings(settled, seen.case)
        if fresh:
            yield from map(_unsettled, check.findings(fresh, seen.case))


def _of_replicas(check: PartitionCheck, rows: Rows, case: CaseFile, before: Examination) -> Iterator[Finding]:
    """Yields the findings about each broker at fault: its rows that last, apart from those where it is new."""
    brokers = check.brokers
    assert brokers is not None
    earlier = _rows_of(check, before)
    then = {(row.tp, broker) for row in earlier for broker in brokers(row, before.case)}
    for broker, found in sorted(grouped((broker, row) for row in rows for broker in brokers(row, case)).items()):
        lasting = tuple(row for row in found if (row.tp, broker) in then)
        fresh = tuple(row for row in found if (row.tp, broker) not in then)
        settled = check.findings(lasting, case) if lasting else ()
        yield from (f for f in settled if f.token == str(broker))
        begun = check.findings(fresh, case) if fresh else ()
        yield from (_unsettled(f) for f in begun if f.token == str(broker))


def _rows_of(check: PartitionCheck, seen: Examination) -> Rows:
    return next((found for known, found in seen.hits if known is check), ())


def _settled(check: PartitionCheck, rows: Rows, before: Examination | None) -> tuple[Rows, Rows]:
    """Returns (the rows that count, the rows that have just begun)."""
    if before is None or check.debounce is Debounce.NONE:
        return rows, ()
    then = {(row.tp, _token(check, row)) for row in _rows_of(check, before)}
    settled = tuple(row for row in rows if (row.tp, _token(check, row)) in then)
    fresh = tuple(row for row in rows if (row.tp, _token(check, row)) not in then)
    return settled, fresh


def _token(check: PartitionCheck, row: PartitionFacts) -> object:
    return (row.zk_version, row.leader_epoch) if check.debounce is Debounce.SAME else ""


def _of_cluster(seen: Examination, before: Examination | None) -> Iterator[Finding]:
    then = {(f.key, f.token) for _, findings in before.cluster for f in findings} if before is not None else None
    for check, findings in seen.cluster:
        for finding in findings:
            lasts = then is None or check.debounce is Debounce.NONE or (finding.key, finding.token) in then
            yield finding if lasts else _unsettled(finding)


def _unsettled(finding: Finding) -> Finding:
    """Returns the finding as advice: an election, a start or a hand-over shows the same for some seconds."""
    return replace(
        finding,
        obj=f"{finding.obj} (just now)",
        about=f"{finding.about} (just now)" if finding.about else "",
        severity=Severity.INFO,
        summary=f"just changed: {finding.summary}",
        remedies=(
            Remedy("Run kfix diagnose again in some seconds: an ordinary election or a broker start shows the same"),
        ),
        headline="",
        unsettled=True,
    )


_COUNTS: dict[str, Callable[[CaseFile], int]] = {
    "brokers": lambda case: sum(1 for broker in case.views if broker >= 0),
    "topics": lambda case: case.partitions.topics,
    "partitions": lambda case: len(case.partitions),
    # Without the partition count of the offsets topic, groups belong to no partition.
    "groups": lambda case: max(sum(len(names) for names in case.groups.values()), len(case.snapshot.groups or ())),
    "probes": lambda case: len(case.probes),
    "sources": lambda case: len(case.snapshot.sources),
    "milliseconds": lambda case: round(1000 * case.snapshot.seconds),
}


def _looked_at(case: CaseFile) -> dict[str, int]:
    """Returns the counts; that of the live brokers only where it is known."""
    live = {} if case.live is None else {"registered": len(case.live)}
    return live | {name: count(case) for name, count in _COUNTS.items()}
