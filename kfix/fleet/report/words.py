"""Wording that all outputs share: the headline, names on one line, the next step of a finding, amounts."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kfix.core.harmless import shortened
from kfix.core.wording import several, some
from kfix.fleet.model.audit import AuditReport, CheckTitle, ClusterRow, FindingRow
from kfix.fleet.report.totals import Totals

#: Worst first.
SEVERITIES: Final = ("critical", "warning", "info")
_NAMED: Final = 3  # clusters in the headline
_NAME: Final = 60


def headline(report: AuditReport, sums: Totals, name: Callable[[str], str]) -> str:
    """Returns what is broken for whom: the affected clusters with their owners, the riskiest first.

    `name` makes a cluster's or an owner's name safe for the output.
    """
    if not sums.collected and not sums.critical and sums.clusters:
        none = "the cluster could not" if sums.clusters == 1 else f"none of the {sums.clusters} clusters could"
        return f"state unknown: {none} be read"
    critical = [c for c in report.clusters if c.critical]
    warning = [c for c in report.clusters if c.warning]
    if critical:
        text = f"{_share(critical, sums, 'is', 'are')} critical: {_names(critical, name)}"
    elif warning:
        text = f"no critical findings; {_share(warning, sums, 'has', 'have')} warnings: {_names(warning, name)}"
    elif sums.unknown:
        text = "no findings on the clusters that were read"
    else:
        text = "no findings" if not sums.info else "no critical findings and no warnings"
    return text + (f"; {several(sums.unknown, 'cluster')} could not be read" if sums.unknown else "")


def _share(rows: list[ClusterRow], sums: Totals, one: str, more: str) -> str:
    return f"{len(rows)} of {several(sums.clusters, 'cluster')} {one if len(rows) == 1 else more}"


def _names(rows: list[ClusterRow], name: Callable[[str], str]) -> str:
    return some([name(shortened(r.cluster, _NAME)) + _owner(r, name) for r in rows], _NAMED)


def _owner(row: ClusterRow, name: Callable[[str], str]) -> str:
    return f" ({name(shortened(row.owner, _NAME))})" if row.owner else ""


def next_step(finding: FindingRow) -> tuple[str, str]:
    """Returns the remedy and a command, which is `kfix explain` if the remedy has none."""
    if finding.command:
        return finding.remedy, finding.command
    if finding.runbook:
        return finding.remedy, f"kfix runbook show {finding.runbook}"
    return finding.remedy, f"kfix explain {finding.code}"


def since_words(finding: FindingRow) -> str:
    """Returns the age of a finding."""
    return "first seen today" if not finding.days else f"for {several(finding.days + 1, 'day')}"


def titles(report: AuditReport) -> Mapping[str, CheckTitle]:
    return {check.code: check for check in report.checks}


def seconds_of(manifest: Mapping[str, Any]) -> float | None:
    """Returns the duration of the audit in seconds, None if the manifest lacks it."""
    began, ended = (manifest.get(name) for name in ("began", "ended"))
    if not isinstance(began, int | float) or not isinstance(ended, int | float):
        return None
    return round(max(float(ended) - float(began), 0.0), 3)
