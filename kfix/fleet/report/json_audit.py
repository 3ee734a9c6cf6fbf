"""An audit as JSON, `kfix.audit/v1`: fields are added, never renamed or removed within v1.

schema          "kfix.audit/v1"
day, run        day of the audit (YYYY-MM-DD), id of its run
previous        run and day of the previous audit, with which it was compared; null for the first
store           path or URL of the store
kfix, engine    version of kfix; name and version of the engine
exit_code       the exit code of the audit, by fail_on: 0, 20, 21, 22
fail_on         the threshold: warning, critical, new-warning, new-critical, never
totals          clusters, collected, unknown, score (mean of the collected clusters, null if there are none),
                previous_score; score_change (over the clusters that both audits read, null if there are none); open
                heads that are not muted: critical, warning, info, new, worse, still; and the numbers of fixed and
                muted ones
clusters        sorted by risk, those of unknown state first; each:
    cluster, owner, tags, criticality
    collected, why       false if the cluster could not be read, and the reason
    maintenance          the reason of the current maintenance window, "" without one; in it findings raise no alert
    taken_at             time of the snapshot in seconds since the epoch, null if there is none
    partitions, topics, brokers
    score                100 (no finding) to 0, null if unknown
    risk                 the points missing from the score, multiplied by the criticality
    critical, warning, info, new, worse, still, fixed, muted
    seconds              time it took to read the cluster
    scores               history: [day, score or null], oldest first
findings        sorted by cluster, severity and key; fixed and muted ones included; each:
    cluster, key         the identity of the finding; key is stable over audits
    code, object, severity
    status               new, still, worse, fixed; unknown: the cluster, or a source of it, could not be read
    since, days          first day of the unbroken series of audits that report it, and the days since then
    summary
    cause, confidence
    head                 key of the finding that explains this one, "" for a head
    prevention, unsettled
    n_partitions, partitions, blocked_groups
    remedy, command, runbook     the safest remedy; command and runbook may be ""
    next                 the command line to run next, never ""
    muted, mute_reason
    baseline             its partitions when it was last called new or worse
    reported             true once the finding was neither muted nor in maintenance in an audit
    document             the finding as in kfix.diagnosis/v1, without folded; null if the store has none
owners, tags    score cards by owner and by tag, the most critical first: name ("" without an owner), clusters,
                collected, score (mean, null if unknown), risk (sum), critical, warning, new, worse, fixed
passed          with --channel: findings that began and ended since its last delivery, as in findings
offenders       checks by the number of clusters that fail them: code, clusters, findings, partitions, worst
checks          code, slug, title, prevention
trend           one audit per day, oldest first: day, run, clusters, collected, score (or null), critical, warning, new,
                fixed
mutes           clusters, findings (patterns), reason, by, until, expired, covers (findings of this run)
could_not_read  unread sources, one line each; what they would have shown is unknown
damaged         earlier audits that cannot be read and are not in the history, one line each
manifest        that of the table `audits`: inputs, versions, rows, durations
history         what the audits of the last days show together, as kfix audit history --json
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from typing import Any, Final

from kfix.core.harmless import for_json
from kfix.fleet.model.audit import AuditReport, ClusterRow, FindingRow, TrendPoint
from kfix.fleet.report.groups import GroupScore, by_owner, by_tag
from kfix.fleet.report.history_rows import history_dict
from kfix.fleet.report.totals import Totals, totals
from kfix.fleet.report.verdict import FailOn, exit_code
from kfix.fleet.report.words import next_step

SCHEMA: Final = "kfix.audit/v1"


def audit_json(report: AuditReport, *, fail_on: FailOn = FailOn.WARNING, indent: int | None = 2) -> str:
    """Returns the JSON text; with `indent` None on one line."""
    body = as_dict(report, fail_on=fail_on)
    return for_json(body, indent=indent, default=str)


def as_dict(report: AuditReport, *, fail_on: FailOn = FailOn.WARNING) -> Mapping[str, Any]:
    past = {t.cluster: list(zip(t.days, t.scores, strict=False)) for t in report.cluster_trends}
    return {
        "schema": SCHEMA,
        "day": report.day.isoformat(),
        "run": report.run,
        "previous": _previous(report),
        "store": report.store,
        "kfix": report.kfix,
        "engine": report.engine,
        "exit_code": exit_code(report, fail_on),
        "fail_on": fail_on.value,
        "totals": _totals(totals(report)),
        "clusters": [_cluster(c, past.get(c.cluster, [])) for c in report.clusters],
        "findings": [_finding(f) for f in report.findings],
        "owners": [_group(g) for g in by_owner(report)],
        "tags": [_group(g) for g in by_tag(report)],
        "passed": [_finding(f) for f in report.passed],
        "offenders": [asdict(o) for o in report.offenders],
        "checks": [asdict(c) for c in report.checks],
        "trend": [_trend(t) for t in report.trend],
        "mutes": [asdict(m) | {"until": m.until.isoformat()} for m in report.mutes],
        "could_not_read": list(report.could_not_read),
        "damaged": list(report.damaged),
        "manifest": dict(report.manifest),
        "history": history_dict(report.history),
    }


def _previous(report: AuditReport) -> Mapping[str, Any] | None:
    if not report.previous_run:
        return None
    return {"run": report.previous_run, "day": report.previous_day.isoformat() if report.previous_day else None}


def _known(score: int) -> int | None:
    return score if score >= 0 else None


def _totals(sums: Totals) -> Mapping[str, Any]:
    scores = {"score": _known(sums.score), "previous_score": _known(sums.previous_score)}
    return asdict(sums) | scores | {"unknown": sums.unknown}


def _cluster(row: ClusterRow, past: list[tuple[date, int]]) -> Mapping[str, Any]:
    return asdict(row) | {
        "tags": list(row.tags),
        "score": _known(row.score) if row.collected else None,
        "taken_at": row.taken_at if row.taken_at >= 0 else None,
        "scores": [[day.isoformat(), _known(score)] for day, score in past],
    }


def _finding(row: FindingRow) -> Mapping[str, Any]:
    return asdict(row) | {
        "since": row.since.isoformat(),
        "partitions": list(row.partitions),
        "blocked_groups": list(row.blocked_groups),
        "next": next_step(row)[1],
        "document": document(row),
    }


def _group(group: GroupScore) -> Mapping[str, Any]:
    return asdict(group) | {"score": _known(group.score)}


def _trend(point: TrendPoint) -> Mapping[str, Any]:
    return asdict(point) | {"day": point.day.isoformat(), "score": _known(point.score)}


def document(row: FindingRow) -> Mapping[str, Any] | None:
    """Returns the JSON of a finding as an object, None if it is damaged: one damaged row must not break the report."""
    try:
        parsed = json.loads(row.document)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None
