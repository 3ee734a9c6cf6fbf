"""The data for the page's script: an index of all findings, and each cluster's details, unpacked on demand."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final

from kfix.core.wording import several
from kfix.fleet.model.audit import AuditReport, ClusterRow, ClusterTrend, FindingRow
from kfix.fleet.report.json_audit import document
from kfix.fleet.report.words import next_step, since_words
from kfix.front.html.packing import packed_json

_PARTITION: Final = re.compile(r"(?s)(.*)-(\d{1,9})\Z")


def index(report: AuditReport) -> Mapping[str, Any]:
    """Returns the clusters in the order of the report, each with its findings; the rows of the page use the indexes."""
    mine = by_cluster(report)
    trends = {t.cluster: t for t in report.cluster_trends}
    return {
        "clusters": [_cluster(c, mine.get(c.cluster, []), trends.get(c.cluster)) for c in report.clusters],
        "checks": {c.code: {"slug": c.slug, "title": c.title} for c in report.checks},
    }


def details(report: AuditReport) -> list[str]:
    """Returns, packed per cluster, the details of the findings in the order of `index`."""
    mine = by_cluster(report)
    return [packed_json([_detail(f) for f in mine.get(c.cluster, [])]) for c in report.clusters]


def by_cluster(report: AuditReport) -> Mapping[str, list[FindingRow]]:
    """Returns the findings by cluster: open ones by severity, then muted ones, then fixed ones."""
    rows = defaultdict(list)
    for row in report.findings:
        rows[row.cluster].append(row)
    for found in rows.values():
        found.sort(key=lambda f: (f.status == "fixed", f.muted, -f.rank, f.key))
    return rows


def _cluster(row: ClusterRow, findings: Iterable[FindingRow], trend: ClusterTrend | None) -> Mapping[str, Any]:
    past = [] if trend is None else [[d.isoformat(), s] for d, s in zip(trend.days, trend.scores, strict=False)]
    return {
        "name": row.cluster,
        "owner": row.owner,
        "tags": row.tags,
        "criticality": row.criticality,
        "collected": row.collected,
        "why": row.why,
        "maintenance": row.maintenance,
        "seen": ", ".join(several(getattr(row, f"{noun}s"), noun) for noun in ("broker", "topic", "partition")),
        "past": past,
        "findings": [_finding(f) for f in findings],
    }


def _finding(row: FindingRow) -> Mapping[str, Any]:
    return {
        "key": row.key,
        "code": row.code,
        "object": row.object,
        "severity": row.severity,
        "status": row.status,
        "summary": row.summary,
        "muted": row.muted,
        "head": row.head,
        "prevention": row.prevention,
        "n": row.n_partitions,
        "parts": ranges(row.partitions),
    }


def ranges(partitions: Iterable[str]) -> list[tuple[str, str]]:
    """Returns partitions as ranges, such as ("orders", "0-11 14") for thirteen names, to keep the page small."""
    numbers = defaultdict(set)
    for name in partitions:
        found = _PARTITION.match(name)
        numbers[found[1] if found else name].update([int(found[2])] if found else [])
    return [(topic, " ".join(_runs(sorted(them)))) for topic, them in sorted(numbers.items())]


def _runs(numbers: list[int]) -> Iterable[str]:
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        them = [n for _, n in run]
        yield str(them[0]) if len(them) == 1 else f"{them[0]}-{them[-1]}"


def _detail(row: FindingRow) -> Mapping[str, Any]:
    parsed = document(row) or {}
    remedy, command = next_step(row)
    return {
        "since": f"{row.since.isoformat()} ({since_words(row)})",
        "cause": row.cause,
        "confidence": row.confidence,
        "evidence": _dicts(parsed.get("evidence")),
        "blocked": parsed.get("blocked") if isinstance(parsed.get("blocked"), dict) else {"groups": row.blocked_groups},
        "remedies": _dicts(parsed.get("remedies")) or [{"text": remedy, "command": command, "runbook": row.runbook}],
        "never": [str(n) for n in parsed.get("never") or () if isinstance(n, str)],
        "next": command,
        "mute": row.mute_reason,
        "unsettled": row.unsettled,
    }


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
