"""Judges one cluster of a run and flattens its findings into rows in the worker, so that little data comes back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any

from kfix.core.diagnosis.finding import Diagnosis, Finding
from kfix.core.fleetcase import ClusterDigest
from kfix.core.snapshot.snapshot import Snapshot
from kfix.fleet.judging.tasks import Judged, JudgeTask
from kfix.fleet.model.audit import FindingRow, Status

#: Converts a finding to a mapping for JSON, as in `kfix diagnose --json`.
AsDict = Callable[[Finding], Mapping[str, Any]]


def judged(task: JudgeTask, diagnosis: Diagnosis, snapshot: Snapshot, as_dict: AsDict) -> Judged:
    """Returns the rows and the digest of a diagnosed cluster."""
    rows = tuple(r for head in diagnosis.findings for r in rows_of(task.cluster, head, task.day, as_dict))
    settings: dict[str, Counter[str]] = {}
    for config in snapshot.broker_configs.values():
        for key, value in config.items():
            settings.setdefault(key, Counter())[value] += 1
    digest = ClusterDigest(
        name=task.cluster,
        cluster_id=snapshot.cluster.id,
        taken_at=snapshot.taken_at,
        brokers=diagnosis.looked_at.get("registered", 0) or diagnosis.looked_at.get("brokers", 0),
        topics=diagnosis.looked_at.get("topics", 0),
        partitions=diagnosis.looked_at.get("partitions", 0),
        settings={key: values.most_common(1)[0][0] for key, values in settings.items()},
        could_not_read=diagnosis.could_not_read,
    )
    return Judged(rows, digest)


def rows_of(cluster: str, finding: Finding, day: date, as_dict: AsDict, head: str = "") -> Iterator[FindingRow]:
    """Yields the row of a finding and of every finding folded into it; `head` of those is the outermost finding."""
    yield _row(cluster, finding, day, as_dict, head)
    for child in finding.folded:
        yield from rows_of(cluster, child, day, as_dict, head or finding.key)


def _row(cluster: str, finding: Finding, day: date, as_dict: AsDict, head: str) -> FindingRow:
    severity = finding.severity if head else finding.worst
    remedy = next((r for r in finding.remedies if r.command), None) or next(iter(finding.remedies), None)
    # Fields with columns or rows of their own are not stored twice.
    document = {k: v for k, v in as_dict(finding).items() if k not in {"folded", "partitions"}}
    return FindingRow(
        cluster=cluster,
        key=finding.key,
        code=finding.code,
        object=finding.obj,
        severity=severity.word,
        rank=int(severity),
        status=Status.NEW,
        since=day,
        days=0,
        summary=finding.summary,
        cause=finding.cause.text,
        confidence=finding.cause.confidence.value,
        head=head,
        prevention=finding.prevention,
        unsettled=finding.unsettled,
        n_partitions=len(finding.partitions),
        partitions=tuple(map(str, finding.partitions)),
        blocked_groups=finding.blocked.groups,
        remedy=remedy.text if remedy else "",
        command=remedy.command if remedy else "",
        runbook=next((r.runbook for r in finding.remedies if r.runbook), ""),
        muted=False,
        mute_reason="",
        document=json.dumps(document, ensure_ascii=False, separators=(",", ":")),
        reported=False,
    )
