"""An audit as one chat message: short Markdown that says what it leaves out. No links, no mentions, no HTML.

Names and commands stand in code spans, which chat tools leave alone; prose is escaped.
"""

from __future__ import annotations

from typing import Final

from kfix.harmless import for_markdown, for_markdown_code
from kfix.model.audit.audit import AuditReport, FindingRow
from kfix.report.fleet.totals import Totals, in_maintenance, news, totals, unknown_clusters
from kfix.report.fleet.words import amount, next_step, shortened

#: Characters. Slack, Teams, Mattermost and Telegram cut, or refuse, at some number above it.
MOST: Final = 3000
_ROOM: Final = 160  # for the line that tells what was left out
_NAME: Final = 80
_SUMMARY: Final = 200
_COMMAND: Final = 300
_UNKNOWN: Final = 5  # listed by name, so that they leave room for what is new
_SIGNS: Final = {"critical": "CRITICAL", "warning": "WARNING", "info": "INFO"}


def audit_markdown(report: AuditReport) -> str:
    """At most MOST characters, ends with a line end."""
    head = _headline(report, totals(report))
    mutes = _mutes(report)
    blocks = [*_unknown(report), *_news(report)]
    out, used = [head], len(head) + len(mutes) + _ROOM
    left = 0
    for number, (title, block) in enumerate(blocks):
        need = ([title] if title else []) + [block]
        size = sum(len(part) for part in need)
        if used + size > MOST:
            left = len(blocks) - number
            break
        out += need
        used += size
    if left:
        out.append(f"\n_{amount(left, 'more entry', 'more entries')} left out; the whole is in the report._\n")
    return "".join([*out, mutes])


def _headline(report: AuditReport, sums: Totals) -> str:
    score = "unknown" if sums.score < 0 else f"{sums.score}/100"
    state = f"{sums.critical} critical, {sums.warning} warning, {sums.info} info"
    lines = [
        f"**Kafka audit {report.day}**: {state}; score **{score}**",
        f"{sums.collected} of {amount(sums.clusters, 'cluster')} collected; "
        + (
            f"{sums.new} new, {sums.worse} worse, {sums.fixed} fixed, {sums.muted} muted"
            if report.previous_run
            else f"the first audit; {sums.muted} muted"
        ),
    ]
    if not news(report) and not sums.unknown:
        lines.append("Nothing new." if report.previous_run else "Nothing found.")
    return "\n".join(lines) + "\n"


def _unknown(report: AuditReport) -> list[tuple[str, str]]:
    title = "\n**Unknown: could not be looked at**\n\n"
    rows = unknown_clusters(report)
    entries = []
    for row in rows[:_UNKNOWN]:
        at_work = f" (in maintenance: {prose(row.maintenance)})" if row.maintenance else ""
        entries.append(f"- {code(row.cluster, _NAME)}: {prose(row.why) or 'no reason told'}{at_work}\n")
    if len(rows) > _UNKNOWN:
        entries.append(f"- and {amount(len(rows) - _UNKNOWN, 'more cluster')}\n")
    return [("" if n else title, entry) for n, entry in enumerate(entries)]


def _news(report: AuditReport) -> list[tuple[str, str]]:
    at_work = in_maintenance(report)
    found = sorted(news(report), key=lambda f: f.cluster in at_work)
    title = "\n**New and worse**\n\n" if report.previous_run else "\n**Findings**\n\n"
    return [("" if n else title, _finding(f, at_work=f.cluster in at_work)) for n, f in enumerate(found)]


def _finding(row: FindingRow, *, at_work: bool) -> str:
    note = ", in maintenance" if at_work else ""
    where = f"{code(row.cluster, _NAME)} {code(f'{row.code} {row.object}', _NAME)}"
    command = next_step(row)[1]
    # A command that was cut must not be pasted.
    step = code(command, _COMMAND) if len(command) <= _COMMAND else code(f"kfix explain {row.code}", _COMMAND)
    sign = _SIGNS.get(row.severity, "INFO")
    return f"- **{sign}** ({prose(row.status)}{note}) {where}: {prose(row.summary)}\n  {step}\n"


def _mutes(report: AuditReport) -> str:
    expired = [m for m in report.mutes if m.expired]
    active = len(report.mutes) - len(expired)
    if not report.mutes:
        return ""
    parts = [f"{amount(active, 'mute')} in force"] if active else []
    parts += [f"**{amount(len(expired), 'mute')} expired**"] if expired else []
    return f"\n{', '.join(parts)}.\n"


def prose(text: str, most: int = _SUMMARY) -> str:
    """As `for_markdown`, of at most `most` characters."""
    return for_markdown(shortened(text, most))


def code(text: str, most: int) -> str:
    """As `for_markdown_code`, of at most `most` characters."""
    return for_markdown_code(shortened(text, most))
