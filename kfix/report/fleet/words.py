"""What every output says in the same words: one line of a hostile name, the next step of a finding, amounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kfix import harmless
from kfix.model.audit.audit import AuditReport, CheckTitle, FindingRow

#: Worst first.
SEVERITIES: Final = ("critical", "warning", "info")


def one_line(text: str) -> str:
    """One harmless line in which blanks are single."""
    return " ".join(pasted(text).split())


def pasted(text: str) -> str:
    """A command: one line too, but its blanks stay as many as they are."""
    return harmless.one_line(text)


def shortened(text: str, most: int) -> str:
    """One line of at most `most` characters."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def next_step(finding: FindingRow) -> tuple[str, str]:
    """What to do, and the command to paste: never without one, `kfix explain` where no remedy has any."""
    if finding.command:
        return finding.remedy, finding.command
    if finding.runbook:
        return finding.remedy, f"kfix runbook show {finding.runbook}"
    return finding.remedy, f"kfix explain {finding.code}"


def amount(n: int, noun: str, plural: str = "") -> str:
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def since_words(finding: FindingRow) -> str:
    """`days` of a finding that is there for the first time is 0."""
    return "since today" if not finding.days else f"for {amount(finding.days + 1, 'day')}"


def titles(report: AuditReport) -> Mapping[str, CheckTitle]:
    return {check.code: check for check in report.checks}


def seconds_of(manifest: Mapping[str, Any]) -> float | None:
    """How long the run took, where its manifest tells."""
    began, ended = (manifest.get(name) for name in ("began", "ended"))
    if not isinstance(began, int | float) or not isinstance(ended, int | float):
        return None
    return round(max(float(ended) - float(began), 0.0), 3)
