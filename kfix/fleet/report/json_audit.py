"""An audit as JSON, `kfix.audit/v1`."""

import json
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from kfix.core.documents.outputs import written
from kfix.core.harmless import for_json
from kfix.fleet.model.audit import AuditReport, CheckTitle, ClusterRow, FindingRow, MuteSeen, Offender, TrendPoint
from kfix.fleet.report.groups import GroupScore, by_owner, by_tag
from kfix.fleet.report.history_rows import HistoryJson, history_dict
from kfix.fleet.report.totals import Totals, totals
from kfix.fleet.report.verdict import FailOn, exit_code
from kfix.fleet.report.words import next_step


class PreviousJson:
    """The audit that this one was compared with."""

    run: str
    day: date | None


class TotalsJson(Totals):
    """The totals of an audit: open heads that are not muted, and the numbers of fixed and muted ones."""

    unknown: Annotated[int, "clusters that were not collected"]


class ClusterRowJson(ClusterRow):
    """A cluster's score card."""

    scores: Annotated[tuple[tuple[date, int | None], ...], "history, oldest first"]


class FindingRowJson(FindingRow):
    """A finding of a cluster."""

    next: Annotated[str, 'the command line to run next, never ""']
    document: Annotated[Any, "the finding as in kfix.diagnosis/v1, without folded; null if the store has none"]


class AuditJson:
    """An audit: kfix audit --json"""

    schema: Literal["kfix.audit/v1"]
    day: date
    run: str
    previous: Annotated[PreviousJson | None, "null for the first audit"]
    store: Annotated[str, "path or URL"]
    kfix: Annotated[str, "its version"]
    engine: Annotated[str, "name and version"]
    exit_code: Annotated[Literal[0, 20, 21, 22], "exit code of the audit, by fail_on"]
    fail_on: Annotated[FailOn, "the threshold"]
    totals: TotalsJson
    clusters: Annotated[tuple[ClusterRowJson, ...], "sorted by risk, those of unknown state first"]
    findings: Annotated[tuple[FindingRowJson, ...], "by cluster, severity and key; fixed and muted ones included"]
    owners: Annotated[tuple[GroupScore, ...], "score cards by owner, the most critical first"]
    tags: Annotated[tuple[GroupScore, ...], "the same by tag"]
    passed: Annotated[tuple[FindingRowJson, ...], "with --channel: those that began and ended since its last delivery"]
    offenders: Annotated[tuple[Offender, ...], "by the number of clusters that fail them"]
    checks: tuple[CheckTitle, ...]
    trend: Annotated[tuple[TrendPoint, ...], "one audit per day, oldest first"]
    mutes: tuple[MuteSeen, ...]
    could_not_read: Annotated[tuple[str, ...], "unread sources; what they would have shown is unknown"]
    damaged: Annotated[tuple[str, ...], "earlier audits that cannot be read and are not in the history"]
    manifest: Annotated[Mapping[str, Any], "that of the table `audits`: inputs, versions, rows, durations"]
    history: Annotated[HistoryJson, "what the audits of the last days show together"]


def audit_json(report: AuditReport, *, fail_on: FailOn = FailOn.WARNING, indent: int | None = 2) -> str:
    """Returns the JSON text; with `indent` None on one line."""
    body = as_dict(report, fail_on=fail_on)
    return for_json(body, indent=indent, default=str)


def as_dict(report: AuditReport, *, fail_on: FailOn = FailOn.WARNING) -> Mapping[str, Any]:
    sums = totals(report)
    past = {t.cluster: list(zip(t.days, t.scores, strict=False)) for t in report.cluster_trends}
    return written(
        AuditJson,
        report,
        previous=written(PreviousJson, run=report.previous_run, day=report.previous_day)
        if report.previous_run
        else None,
        exit_code=exit_code(report, fail_on),
        fail_on=fail_on,
        totals=written(TotalsJson, sums, previous_score=_known(sums.previous_score)),
        clusters=[_cluster(c, past.get(c.cluster, [])) for c in report.clusters],
        findings=[_finding(f) for f in report.findings],
        owners=by_owner(report),
        tags=by_tag(report),
        passed=[_finding(f) for f in report.passed],
        history=history_dict(report.history),
    )


def _cluster(row: ClusterRow, past: list[tuple[date, int]]) -> Mapping[str, Any]:
    return written(ClusterRowJson, row, scores=[(day, _known(score)) for day, score in past])


def _known(score: float) -> float | None:
    return score if score >= 0 else None


def _finding(row: FindingRow) -> Mapping[str, Any]:
    return written(FindingRowJson, row, next=next_step(row)[1], document=document(row))


def document(row: FindingRow) -> Mapping[str, Any] | None:
    """Returns the JSON of a finding as an object, None if it is damaged: one damaged row must not break the report."""
    try:
        parsed = json.loads(row.document)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None
