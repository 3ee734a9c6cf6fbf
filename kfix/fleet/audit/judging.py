"""Judges one stored cluster for an audit, and turns its findings into rows."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import Finding
from kfix.core.fleetcase import ClusterDigest
from kfix.diagnose.report.json_findings import finding_dict
from kfix.fleet.judging.case import open_and_judge
from kfix.fleet.model.audit import FindingRow, Status
from kfix.fleet.store.runs import StoredCluster


def judged(
    cluster: str, stored: StoredCluster, criteria: Criteria, day: date
) -> tuple[tuple[FindingRow, ...], ClusterDigest]:
    """Returns the rows of all findings, folded ones and latent risks included, each with status new, and the digest.

    Raises UsageError for a damaged file and UnreachableError if the store cannot be reached; both name the file.
    """
    diagnosis, snapshot = open_and_judge(stored, replace(criteria, prevention=True))
    rows = tuple(row for head in diagnosis.findings for row in rows_of(cluster, head, day))
    settings: dict[str, Counter[str]] = {}
    for config in snapshot.broker_configs.values():
        for key, value in config.items():
            settings.setdefault(key, Counter())[value] += 1
    digest = ClusterDigest(
        name=cluster,
        cluster_id=snapshot.cluster.id,
        taken_at=snapshot.taken_at,
        brokers=diagnosis.looked_at.get("registered", 0) or diagnosis.looked_at.get("brokers", 0),
        topics=diagnosis.looked_at.get("topics", 0),
        partitions=diagnosis.looked_at.get("partitions", 0),
        settings={key: values.most_common(1)[0][0] for key, values in settings.items()},
        could_not_read=diagnosis.could_not_read,
    )
    return rows, digest


def rows_of(cluster: str, finding: Finding, day: date, head: str = "") -> Iterator[FindingRow]:
    """Yields the row of a finding and of every finding folded into it; `head` of those is the outermost finding."""
    yield _row(cluster, finding, day, head)
    for child in finding.folded:
        yield from rows_of(cluster, child, day, head or finding.key)


def _row(cluster: str, finding: Finding, day: date, head: str) -> FindingRow:
    severity = finding.severity if head else finding.worst
    remedy = next((r for r in finding.remedies if r.command), None) or next(iter(finding.remedies), None)
    # Fields with columns or rows of their own are not stored twice.
    document = {k: v for k, v in finding_dict(finding).items() if k not in {"folded", "partitions"}}
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
