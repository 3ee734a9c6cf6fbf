"""An audit as CSV (RFC 4180: CRLF, quoted where needed), with one row per finding or one row per cluster.

The header is stable: columns are added at the end. Lists are joined by blanks. A text that a spreadsheet would read as
a formula (it begins with = + - @) is prefixed with a quote; a line break within a text becomes an escape. An unknown
score or time is an empty cell.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Final

from kfix.fleet.model.audit import AuditReport, ClusterRow, FindingRow
from kfix.fleet.report.rows import rows_csv
from kfix.fleet.report.words import next_step

_NOT_SHOWN: Final = frozenset({"rank", "document", "reported", "baseline"})
FINDINGS: Final = ("day", "run", *(f.name for f in fields(FindingRow) if f.name not in _NOT_SHOWN), "next")
CLUSTERS: Final = ("day", "run", *(f.name for f in fields(ClusterRow)))


def audit_csv(report: AuditReport, *, clusters: bool = False) -> str:
    """Returns all findings, fixed and muted ones included, or the score cards if `clusters` is set."""
    if clusters:
        return _csv(CLUSTERS, (_of_cluster(report, c) for c in report.clusters))
    return _csv(FINDINGS, (_of_finding(report, f) for f in report.findings))


def _of_finding(report: AuditReport, row: FindingRow) -> list[Any]:
    more = {"day": report.day, "run": report.run, "next": next_step(row)[1]}
    return [more[name] if name in more else getattr(row, name) for name in FINDINGS]


def _of_cluster(report: AuditReport, row: ClusterRow) -> list[Any]:
    more = {
        "day": report.day,
        "run": report.run,
        "score": row.score if row.collected and row.score >= 0 else "",
        "taken_at": row.taken_at if row.taken_at >= 0 else "",
    }
    return [more[name] if name in more else getattr(row, name) for name in CLUSTERS]


def _csv(header: Sequence[str], rows: Iterable[list[Any]]) -> str:
    return rows_csv(header, ([str(v).lower() if isinstance(v, bool) else v for v in row] for row in rows))
