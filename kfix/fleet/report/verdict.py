"""The exit code of an audit by `--fail-on`; it is the same for every output (docs/exit-codes.md)."""

from enum import StrEnum

from kfix.core.diagnosis.finding import CANNOT_TELL, CRITICAL, HEALTHY, WARNINGS
from kfix.core.errors import UsageError
from kfix.fleet.model.audit import AuditReport, FindingRow, Status
from kfix.fleet.report.totals import in_maintenance


class FailOn(StrEnum):
    """The findings for which an audit exits with a code other than 0. For `new-*` only new and worse ones count."""

    WARNING = "warning"
    CRITICAL = "critical"
    NEW_WARNING = "new-warning"
    NEW_CRITICAL = "new-critical"
    NEVER = "never"


_NEW = (FailOn.NEW_WARNING, FailOn.NEW_CRITICAL)
_WARNINGS_COUNT = (FailOn.WARNING, FailOn.NEW_WARNING)


def fail_on(word: str) -> FailOn:
    """Returns the threshold. Raises UsageError for an unknown word."""
    try:
        return FailOn(word)
    except ValueError as error:
        raise UsageError(f"--fail-on: {word!r} is not one of {', '.join(FailOn)}") from error


def exit_code(report: AuditReport, threshold: FailOn = FailOn.WARNING) -> int:
    """Returns 0, 20 (warnings), 21 (critical) or 22 (something could not be read, and there is no critical finding).

    Muted findings and those of clusters in maintenance do not count. With `never` the result is always 0.
    """
    if threshold is FailOn.NEVER:
        return HEALTHY
    severities = {f.severity for f in _counted(report, threshold)}
    if "critical" in severities:
        return CRITICAL
    if unread(report):
        return CANNOT_TELL
    return WARNINGS if "warning" in severities and threshold in _WARNINGS_COUNT else HEALTHY


def unread(report: AuditReport) -> tuple[str, ...]:
    """Returns what was not read, one line each, without clusters in maintenance."""
    at_work = tuple(f"{name}: " for name in in_maintenance(report))
    lines = [f"{c.cluster}: {c.why}" for c in report.clusters if not c.collected and not c.maintenance]
    lines += [line for line in report.could_not_read if not line.startswith(at_work)]
    return tuple(dict.fromkeys(lines))


def _counted(report: AuditReport, threshold: FailOn) -> list[FindingRow]:
    at_work = in_maintenance(report)
    fresh = (Status.NEW, Status.WORSE)
    return [f for f in report.open if f.cluster not in at_work and (threshold not in _NEW or f.status in fresh)]
