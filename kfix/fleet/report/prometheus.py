"""An audit as Prometheus metrics for node_exporter's textfile collector.

An unknown value is absent, never 0 and never NaN: a mean over clusters stays right, and an alert on unknown state uses
`kfix_audit_cluster_collected == 0`. The number of series is bounded: 22 per cluster, and one per cluster and failed
check.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kfix.fleet.model.audit import OPEN, AuditReport, ClusterRow
from kfix.fleet.report.totals import totals
from kfix.fleet.report.verdict import unread
from kfix.fleet.report.words import SEVERITIES, seconds_of
from kfix.front.exposition import Family, Sample, exposition


def audit_metrics(report: AuditReport) -> str:
    """Returns the exposition text; a family without samples is left out."""
    return exposition(families(report))


def families(report: AuditReport) -> Iterator[Family]:
    """Yields the families in the order of the text; docs/audit-report.md lists them."""
    yield from _of_fleet(report)
    yield from _of_clusters(report)
    yield Family("kfix_audit_findings", "Open findings that are not muted; heads only.", list(_findings(report)))
    yield Family(
        "kfix_audit_check_findings",
        "Open findings of one check that are not muted, including consequences of other findings.",
        [({"cluster": name, "code": code}, n) for (name, code), n in _per_check(report)],
    )


def _of_fleet(report: AuditReport) -> Iterator[Family]:
    sums = totals(report)
    run = {"run": report.run, "day": report.day.isoformat(), "kfix": report.kfix, "engine": report.engine}
    times = [c.taken_at for c in report.clusters if c.taken_at >= 0]
    ended = report.manifest.get("ended")
    when = ended if isinstance(ended, int | float) else max(times, default=None)
    took = seconds_of(report.manifest)
    yield Family("kfix_audit_last_run_info", "The audit that the metrics describe.", [(run, 1)])
    yield Family(
        "kfix_audit_timestamp_seconds",
        "Time at which the audit ended; alert on its age.",
        [] if when is None else [({}, when)],
    )
    yield Family("kfix_audit_duration_seconds", "Duration of the audit.", [] if took is None else [({}, took)])
    yield Family("kfix_audit_clusters", "Clusters in the inventory.", [({}, sums.clusters)])
    yield Family("kfix_audit_clusters_collected", "Clusters that were read.", [({}, sums.collected)])
    yield Family(
        "kfix_audit_fleet_score",
        "Mean score of the clusters that were read; absent if there are none.",
        [({}, sums.score)] if sums.score >= 0 else [],
    )
    yield Family("kfix_audit_could_not_read", "Clusters and sources not read.", [({}, len(unread(report)))])
    yield Family("kfix_audit_fixed_findings", "Findings of the previous audit that are gone.", [({}, sums.fixed)])
    yield Family("kfix_audit_mutes_expired", "Mutes that have expired.", [({}, sum(m.expired for m in report.mutes))])


def _of_clusters(report: AuditReport) -> Iterator[Family]:
    rows = report.clusters
    seen = [c for c in rows if c.collected]
    yield _family(
        "cluster_collected",
        "1: the cluster was read; 0: state unknown.",
        rows,
        lambda c: int(c.collected),
    )
    yield _family(
        "cluster_maintenance",
        "1: in a maintenance window; findings raise no alert.",
        rows,
        lambda c: int(bool(c.maintenance)),
    )
    scored = [c for c in seen if c.score >= 0]
    yield _family("cluster_score", "100 is best, 0 is worst; absent if unknown.", scored, lambda c: c.score)
    yield _family("cluster_risk", "Points missing from the score, times the criticality.", rows, lambda c: c.risk)
    yield _family("cluster_partitions", "Number of partitions.", seen, lambda c: c.partitions)
    yield _family("cluster_topics", "Number of topics.", seen, lambda c: c.topics)
    yield _family("cluster_brokers", "Number of brokers.", seen, lambda c: c.brokers)
    timed = [c for c in seen if c.taken_at >= 0]
    yield _family("cluster_timestamp_seconds", "Time of the snapshot.", timed, lambda c: c.taken_at)
    yield _family("cluster_duration_seconds", "Time it took to read the cluster.", seen, lambda c: c.seconds)
    yield _family("cluster_muted_findings", "Findings covered by a mute.", rows, lambda c: c.muted)


def _family(name: str, text: str, rows: Iterable[ClusterRow], value: Callable[[ClusterRow], float]) -> Family:
    return Family(f"kfix_audit_{name}", text, [({"cluster": c.cluster}, value(c)) for c in rows])


_STATUSES: Final = tuple(status.value for status in OPEN)


def _findings(report: AuditReport) -> Iterator[Sample]:
    """Yields zeros as well, so that alerts resolve, but not for an unread cluster, where a zero would be a guess."""
    found = Counter((f.cluster, f.severity, f.status) for f in report.open if not f.head)
    for row in report.clusters:
        for severity in SEVERITIES:
            for status in _STATUSES:
                if (n := found[row.cluster, severity, status]) or row.collected:
                    yield {"cluster": row.cluster, "severity": severity, "status": status}, n


def _per_check(report: AuditReport) -> list[tuple[tuple[str, str], int]]:
    return sorted(Counter((f.cluster, f.code) for f in report.open).items())
