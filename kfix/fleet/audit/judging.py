"""One cluster of a run, judged and flattened where it was read: what comes back is small."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from kfix.model.audit.audit import FindingRow, Status
from kfix.model.audit.fleetcase import ClusterDigest
from kfix.model.cluster.snapshot import Snapshot
from kfix.model.diagnosis.finding import Diagnosis, Finding
from kfix.model.expected import EXPECTED, Expected
from kfix.model.timing import TIMING

#: A finding as a mapping for JSON, as `kfix diagnose --json` has it.
AsDict = Callable[[Finding], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """What a worker is told: names and numbers, never rows. `table` is the path or URL of the cluster's partitions."""

    cluster: str
    table: str
    day: date
    expected: Expected = EXPECTED
    restart_grace: float = TIMING.restart_grace


@dataclass(frozen=True, slots=True)
class Judged:
    """`rows` are all findings, folded ones too, as if none had been known before."""

    rows: tuple[FindingRow, ...]
    digest: ClusterDigest


def judged(task: JudgeTask, diagnosis: Diagnosis, snapshot: Snapshot, as_dict: AsDict) -> Judged:
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
    """Of a finding and of all that is folded under it; these name the outermost one as their head."""
    yield _row(cluster, finding, day, as_dict, head)
    for child in finding.folded:
        yield from rows_of(cluster, child, day, as_dict, head or finding.key)


def _row(cluster: str, finding: Finding, day: date, as_dict: AsDict, head: str) -> FindingRow:
    severity = finding.severity if head else finding.worst
    remedy = next((r for r in finding.remedies if r.command), None) or next(iter(finding.remedies), None)
    # What has columns of its own, or rows of its own, is not kept twice.
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
        told=False,
    )
