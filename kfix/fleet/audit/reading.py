"""Builds the report of an audit from the store; an audit of months ago is reported in the same way as the last one."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta

from kfix.core.cyclic import without_collector
from kfix.core.diagnosis.finding import Severity
from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError
from kfix.core.harmless import lines
from kfix.fleet.audit.sql import CLUSTER_TRENDS, OFFENDERS, TREND
from kfix.fleet.engines.engine import Engine
from kfix.fleet.history.figures import ReplicaLimits
from kfix.fleet.history.reading import history_of
from kfix.fleet.model.audit import (
    AuditReport,
    CheckTitle,
    ClusterRow,
    ClusterTrend,
    FindingRow,
    Offender,
    TrendPoint,
    score_of_mean,
)
from kfix.fleet.model.history import AuditHistory, HistoryChoice
from kfix.fleet.model.scenarios import ScenarioRow, worst_first
from kfix.fleet.store.audits import Audit, audits, is_sound, read_audit, read_rows
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import StoreLocation
from kfix.fleet.store.spec import TableSpec
from kfix.fleet.store.stored import StoredRows, stored_rows
from kfix.fleet.store.tables import AUDITS, CLUSTERS, FINDINGS
from kfix_diagnostics.catalogue import pages
from kfix_diagnostics.prevention.kfx611_many_partitions import PER_BROKER, PER_CLUSTER

#: Days of history that a report shows.
DAYS = 30
LIMITS = ReplicaLimits(PER_BROKER, PER_CLUSTER)


def stored_report(
    root: StoreLocation, engine: Engine, *, run: str = "", day: date | None = None, days: int = DAYS
) -> AuditReport:
    """Returns the report of the last audit, the last of a day, or that of a run. Raises UsageError if there is none."""
    return report(root, find_audit(root, run, day), engine, days=days)


def report(root: StoreLocation, audit: Audit, engine: Engine, *, days: int = DAYS) -> AuditReport:
    """Returns the report of a stored audit, with a trend and a history over `days` days."""
    with without_collector():
        return _report(root, audit, engine, days)


def _report(root: StoreLocation, audit: Audit, engine: Engine, days: int) -> AuditReport:
    findings = read_rows(FindingRow, audit)
    clusters = read_rows(ClusterRow, audit)
    damaged: list[str] = []
    there = audits_until(root, audit, days, damaged)
    past = history(root, audit, days, damaged, there)
    trend, by_cluster = _trend(past, {c.cluster for c in clusters}, engine)
    seen = {f.code for f in findings}
    manifest = audit.manifest
    past_found = history_of(root, there, engine, LIMITS, before=past[-2] if len(past) > 1 else None)
    lost = (*damaged, *past_found.incomplete, *map(str, manifest.get("damaged", ())))
    previous_day, previous_run = audit.previous or (None, "")
    return AuditReport(
        day=audit.day,
        run=audit.id,
        previous_run=previous_run,
        previous_day=previous_day,
        store=str(root),
        kfix=str(manifest.get("kfix", "")),
        engine=str(manifest.get("engine", "")),
        clusters=tuple(sorted(clusters, key=lambda c: (c.collected, -c.risk, c.cluster))),
        findings=tuple(sorted(findings, key=lambda f: (f.cluster, -f.rank, f.key))),
        trend=trend,
        cluster_trends=by_cluster,
        offenders=_offenders(audit, engine),
        checks=tuple(CheckTitle(c.code, c.slug, c.title, c.prevention) for c in pages() if c.code in seen),
        mutes=audit.mutes,
        could_not_read=audit.could_not_read,
        damaged=tuple(dict.fromkeys(lost)),
        manifest=manifest,
        history=past_found,
        scenarios=tuple(worst_first(read_rows(ScenarioRow, audit))),
    )


def stored_history(root: StoreLocation, engine: Engine, choice: HistoryChoice, *, days: int) -> AuditHistory:
    """Returns the history of the chosen clusters, owners and codes in the `days` days up to the last audit.

    Raises UsageError if there is no audit, no such check, or no such cluster or owner in these audits.
    """
    known = {check.code for check in pages()}
    for code in choice.codes:
        if code not in known:
            raise UsageError(f"--code: there is no check {code!r}{did_you_mean(code, known)}", hint="kfix explain")
    audit = find_audit(root)
    damaged: list[str] = []
    there = audits_until(root, audit, days, damaged)
    past = history(root, audit, days, damaged, there)
    with without_collector():
        found = history_of(root, there, engine, LIMITS, before=past[-2] if len(past) > 1 else None, choice=choice)
    return replace(found, incomplete=tuple(dict.fromkeys((*found.incomplete, *damaged))))


def audits_until(root: StoreLocation, audit: Audit, days: int, damaged: list[str]) -> tuple[Audit, ...]:
    """Returns all audits of the last `days` days, oldest first, up to this one; `damaged` takes those left out.

    Their clusters have the names of this one.
    """
    earlier = audits(root, audit.day - timedelta(days=days - 1), damaged=damaged)
    return (*(each.under(audit.renames) for each in earlier if each.order < audit.order), audit)


def history(
    root: StoreLocation,
    audit: Audit,
    days: int = DAYS,
    damaged: list[str] | None = None,
    there: Iterable[Audit] | None = None,
) -> tuple[Audit, ...]:
    """Returns one audit per day, oldest first, ending with this one; of `there`, if that is given.

    Of several audits on one day the one with the most clusters counts, then the last, since an audit of a part of the
    fleet would distort the trend. Audits that cannot be read are added to `damaged`.
    """
    left_out = [] if damaged is None else damaged
    best: dict[date, Audit] = {}
    for each in audits_until(root, audit, days, left_out) if there is None else there:
        if each.day == audit.day:
            continue
        if why := is_sound(each):
            left_out.append(why)
        elif each.day not in best or len(each.clusters_named) >= len(best[each.day].clusters_named):
            best[each.day] = each
    return (*(a for _, a in sorted(best.items())), audit)


def find_audit(root: StoreLocation, run: str = "", day: date | None = None) -> Audit:
    """Returns the last audit, the last one of a day, or the one of a run.

    Raises UsageError if there is none, or if an audit of that day is damaged: an older one must not pass for it.
    """
    there = StoreTable(root, AUDITS).files(lambda of, name: day in (None, of) and run in ("", name))
    if not there:
        what = " ".join(["no audit", *([f"of run {run!r}"] if run else []), *([f"of {day}"] if day else [])])
        raise UsageError(lines(f"{root}: {what}"), hint="kfix audit creates one; kfix fleet runs lists the stored runs")
    return max((read_audit(root, f) for f in there if f.day == there[-1].day), key=lambda a: a.order)


def _trend(
    past: Sequence[Audit], names: set[str], engine: Engine
) -> tuple[tuple[TrendPoint, ...], tuple[ClusterTrend, ...]]:
    tables = {"clusters": _rows(past[-1].root, CLUSTERS, past)}
    points = tuple(
        TrendPoint(
            day=each["day"],
            run=each["run"],
            clusters=each["clusters"],
            collected=each["collected"],
            score=score_of_mean(each["twelfths"] / 12, each["collected"]),
            critical=each["critical"],
            warning=each["warning"],
            new=each["new"],
            fixed=each["fixed"],
        )
        for each in engine.query(TREND, tables).to_pylist()
    )
    scores: dict[str, list[tuple[date, int]]] = {}
    for each in engine.query(CLUSTER_TRENDS, tables).to_pylist():
        if each["cluster"] in names:
            scores.setdefault(each["cluster"], []).append((each["day"], each["score"]))
    trends = (ClusterTrend(c, tuple(d for d, _ in all_), tuple(s for _, s in all_)) for c, all_ in scores.items())
    return points, tuple(trends)


def _offenders(audit: Audit, engine: Engine) -> tuple[Offender, ...]:
    return tuple(
        Offender(each["code"], each["clusters"], each["findings"], each["partitions"], Severity(each["rank"]).word)
        for each in engine.query(OFFENDERS, {"findings": _rows(audit.root, FINDINGS, [audit])}).to_pylist()
    )


def _rows(root: StoreLocation, spec: TableSpec, chosen: Sequence[Audit]) -> StoredRows:
    runs = {audit.key for audit in chosen}
    there = StoreTable(root, spec).files(lambda day, run: (day, run) in runs)
    return stored_rows(root, spec, there, chosen[-1].renames)
