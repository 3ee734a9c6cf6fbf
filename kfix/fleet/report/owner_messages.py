"""One Markdown message for each owner with news: only the owner's clusters, news first."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from kfix.fleet.model.audit import AuditReport
from kfix.fleet.report.markdown import audit_markdown
from kfix.fleet.report.totals import has_news
from kfix.front.writing import write_output

#: The name of the message about clusters without an owner.
NOBODY: Final = "without-owner"
_LONGEST: Final = 150


def of_owner(report: AuditReport, owner: str) -> AuditReport:
    """Returns the report of the clusters of one owner; the trend, which is that of the fleet, is left out."""
    clusters = tuple(c for c in report.clusters if c.owner == owner)
    mine = {c.cluster for c in clusters}
    return replace(
        report,
        clusters=clusters,
        findings=tuple(f for f in report.findings if f.cluster in mine),
        passed=tuple(f for f in report.passed if f.cluster in mine),
        could_not_read=tuple(line for line in report.could_not_read if line.partition(": ")[0] in mine),
        scenarios=tuple(s for s in report.scenarios if s.cluster in mine),
        trend=(),
        cluster_trends=tuple(t for t in report.cluster_trends if t.cluster in mine),
        mutes=(),
    )


def owner_messages(report: AuditReport) -> Mapping[str, str]:
    """Returns the messages by file name, "" for an owner without news."""
    found = {}
    for owner in dict.fromkeys(c.owner for c in report.clusters):
        mine = of_owner(report, owner)
        found[message_name(owner)] = audit_markdown(mine) if has_news(mine) else ""
    return found


def message_name(owner: str) -> str:
    """Returns the file name of an owner's message, another for each; percent-encoded, none leaves the folder."""
    if not owner:
        return f"{NOBODY}.md"
    name = quote(owner.encode("utf-8", "backslashreplace"), safe=" @+")
    if name.startswith(".") or name == NOBODY:
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}-{hashlib.sha256(owner.encode('utf-8', 'backslashreplace')).hexdigest()[:16]}"
    return f"{name}.md"


def write_messages(report: AuditReport, folder: str) -> None:
    """Writes the messages; that of an owner without news is deleted, so that an old one is not sent again.

    Raises UsageError if a file cannot be written.
    """
    for name, text in owner_messages(report).items():
        path = Path(folder) / name
        if text:
            write_output(text, str(path))
        elif path.is_file() and not path.is_symlink():
            path.unlink(missing_ok=True)
