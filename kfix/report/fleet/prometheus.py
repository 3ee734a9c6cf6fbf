"""An audit for Prometheus, as a textfile of node_exporter: one look a night, numbers only.

What is not known is absent, never 0 and never NaN: a mean over clusters stays right, and an alert on what is unknown
asks `kfix_audit_cluster_collected == 0`. Series are bounded: some twenty a cluster, and one a cluster and failed check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kfix.harmless import for_prometheus
from kfix.model.audit.audit import OPEN, AuditReport, ClusterRow
from kfix.report.fleet.totals import totals
from kfix.report.fleet.verdict import unread
from kfix.report.fleet.words import SEVERITIES, seconds_of

Sample = tuple[dict[str, str], float]


@dataclass(frozen=True)
class Family:
    """All are gauges. `samples` are labels and value."""

    name: str
    help: str
    samples: list[Sample] = field(default_factory=list)


def audit_metrics(report: AuditReport) -> str:
    """The exposition text; a family without a sample is left out."""
    return "".join(_text(family) for family in families(report) if family.samples)


def families(report: AuditReport) -> Iterator[Family]:
    """In the order of the text; docs/audit-report.md lists them."""
    yield from _of_fleet(report)
    yield from _of_clusters(report)
    yield Family("kfix_audit_findings", "Open findings, not muted, heads only.", list(_findings(report)))
    yield Family(
        "kfix_audit_check_findings",
        "Open findings of one check, not muted, those that follow from another too.",
        [({"cluster": name, "code": code}, n) for (name, code), n in _per_check(report)],
    )


def _of_fleet(report: AuditReport) -> Iterator[Family]:
    sums = totals(report)
    run = {"run": report.run, "day": report.day.isoformat(), "kfix": report.kfix, "engine": report.engine}
    times = [c.taken_at for c in report.clusters if c.taken_at >= 0]
    ended = report.manifest.get("ended")
    when = ended if isinstance(ended, int | float) else max(times, default=None)
    took = seconds_of(report.manifest)
    yield Family("kfix_audit_last_run_info", "The audit these numbers are of.", [(run, 1)])
    yield Family(
        "kfix_audit_timestamp_seconds", "When the audit ended; alert on its age.", [] if when is None else [({}, when)]
    )
    yield Family("kfix_audit_duration_seconds", "How long the audit took.", [] if took is None else [({}, took)])
    yield Family("kfix_audit_clusters", "Clusters of the inventory.", [({}, sums.clusters)])
    yield Family("kfix_audit_clusters_collected", "Clusters that were looked at.", [({}, sums.collected)])
    yield Family(
        "kfix_audit_fleet_score",
        "Mean score of the collected clusters; absent where none was.",
        [({}, sums.score)] if sums.score >= 0 else [],
    )
    yield Family("kfix_audit_could_not_read", "Sources that could not be read.", [({}, len(unread(report)))])
    yield Family("kfix_audit_fixed_findings", "Findings of the audit before that are gone.", [({}, sums.fixed)])
    yield Family(
        "kfix_audit_mutes_expired", "Mutes that are out of date.", [({}, sum(m.expired for m in report.mutes))]
    )


def _of_clusters(report: AuditReport) -> Iterator[Family]:
    rows = report.clusters
    seen = [c for c in rows if c.collected]
    yield _family(
        "cluster_collected", "1: looked at; 0: could not be, so nothing is known.", rows, lambda c: int(c.collected)
    )
    yield _family(
        "cluster_maintenance",
        "1: people work on it, its findings alarm nobody.",
        rows,
        lambda c: int(bool(c.maintenance)),
    )
    scored = [c for c in seen if c.score >= 0]
    yield _family("cluster_score", "100 nothing to say, 0 worst; absent: unknown.", scored, lambda c: c.score)
    yield _family("cluster_risk", "What the score lacks, weighted by criticality.", rows, lambda c: c.risk)
    yield _family("cluster_partitions", "Partitions seen.", seen, lambda c: c.partitions)
    yield _family("cluster_topics", "Topics seen.", seen, lambda c: c.topics)
    yield _family("cluster_brokers", "Brokers seen.", seen, lambda c: c.brokers)
    timed = [c for c in seen if c.taken_at >= 0]
    yield _family("cluster_timestamp_seconds", "When it was looked at.", timed, lambda c: c.taken_at)
    yield _family("cluster_duration_seconds", "How long its look took.", seen, lambda c: c.seconds)
    yield _family("cluster_muted_findings", "Findings that a mute covers.", rows, lambda c: c.muted)


def _family(name: str, text: str, rows: Iterable[ClusterRow], value: Callable[[ClusterRow], float]) -> Family:
    return Family(f"kfix_audit_{name}", text, [({"cluster": c.cluster}, value(c)) for c in rows])


_STATUSES: Final = tuple(status.value for status in OPEN)


def _findings(report: AuditReport) -> Iterator[Sample]:
    """Zeros too, so that a series goes on; not for a cluster that was not collected, where nobody knows of a zero."""
    found = Counter((f.cluster, f.severity, f.status) for f in report.open if not f.head)
    for row in report.clusters:
        for severity in SEVERITIES:
            for status in _STATUSES:
                if (n := found[row.cluster, severity, status]) or row.collected:
                    yield {"cluster": row.cluster, "severity": severity, "status": status}, n


def _per_check(report: AuditReport) -> list[tuple[tuple[str, str], int]]:
    return sorted(Counter((f.cluster, f.code) for f in report.open).items())


def _text(family: Family) -> str:
    lines = [f"# HELP {family.name} {for_prometheus(family.help)}", f"# TYPE {family.name} gauge"]
    lines += [f"{family.name}{_labels(labels)} {_number(value)}" for labels, value in family.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    pairs = ",".join(f'{name}="{for_prometheus(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
