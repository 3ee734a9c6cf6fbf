"""An audit as one short chat message in Markdown. It has no links, no mentions and no HTML.

Names and commands are in code spans, which chat tools do not interpret; prose is escaped. The message states how many
entries it leaves out.
"""

from typing import Final

from kfix.core.harmless import for_markdown, for_markdown_code, shortened
from kfix.core.wording import several
from kfix.fleet.model.audit import AuditReport, FindingRow
from kfix.fleet.report.order import ReportEntry, first_things
from kfix.fleet.report.totals import Totals, in_maintenance, passed, totals, unknown_clusters
from kfix.fleet.report.words import headline, next_step

#: Characters. Slack, Teams, Mattermost and Telegram truncate or refuse messages at various lengths above this.
MOST: Final = 3000
_ROOM: Final = 160  # for the line with the number of omitted entries
_NAME: Final = 80
_SUMMARY: Final = 200
_COMMAND: Final = 300
_UNKNOWN: Final = 5  # listed by name, to leave room for new findings
_SIGNS: Final = {"critical": "CRITICAL", "warning": "WARNING", "info": "INFO"}


def audit_markdown(report: AuditReport) -> str:
    """Returns the message, at most MOST characters, with a line end at its end."""
    head = _headline(report, totals(report))
    mutes = _mutes(report)
    blocks = [*_unknown(report), *_news(report), *_passed(report)]
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
        out.append(f"\n_{several(left, 'more entry', 'more entries')} left out; the full report has all of them._\n")
    return "".join([*out, mutes])


def _headline(report: AuditReport, sums: Totals) -> str:
    score = "unknown" if sums.score < 0 else f"{sums.score:g}/100"
    state = f"{sums.critical} critical, {sums.warning} warning, {sums.info} info"
    lines = [
        f"**Kafka audit {report.day}**: {headline(report, sums, _name)}",
        f"Findings: {state}; score **{score}**",
        f"{sums.collected} of {several(sums.clusters, 'cluster')} read; "
        + (
            f"{sums.new} new, {sums.worse} worse, {sums.fixed} fixed, {sums.muted} muted"
            if report.previous_run
            else f"first audit; {sums.muted} muted"
        ),
    ]
    if not first_things(report, only_new=True) and not passed(report) and not sums.unknown:
        lines.append("No new findings." if report.previous_run else "No findings.")
    return "\n".join(lines) + "\n"


def _unknown(report: AuditReport) -> list[tuple[str, str]]:
    title = "\n**State unknown: could not be read**\n\n"
    rows = unknown_clusters(report)
    entries = []
    for row in rows[:_UNKNOWN]:
        at_work = f" (in maintenance: {prose(row.maintenance)})" if row.maintenance else ""
        entries.append(f"- {code(row.cluster, _NAME)}: {prose(row.why) or 'no reason given'}{at_work}\n")
    if len(rows) > _UNKNOWN:
        entries.append(f"- and {several(len(rows) - _UNKNOWN, 'more cluster')}\n")
    return [("" if n else title, entry) for n, entry in enumerate(entries)]


def _news(report: AuditReport) -> list[tuple[str, str]]:
    at_work = in_maintenance(report)
    title = "\n**New or worse**\n\n" if report.previous_run else "\n**Findings**\n\n"
    found = first_things(report, only_new=True)
    return [("" if n else title, _finding(e, at_work=at_work.issuperset(e.clusters))) for n, e in enumerate(found)]


def _passed(report: AuditReport) -> list[tuple[str, str]]:
    title = "\n**Began and ended since the last report**\n\n"
    return [("" if n else title, f"- {_where(f)}: {prose(f.summary)}\n") for n, f in enumerate(passed(report))]


def _finding(entry: ReportEntry, *, at_work: bool) -> str:
    row, notes = entry.row, [*entry.notes, *(["in maintenance"] if at_work else [])]
    command = next_step(row)[1]
    # A truncated command must not be pasted.
    step = code(command, _COMMAND) if len(command) <= _COMMAND else code(f"kfix explain {row.code}", _COMMAND)
    sign = _SIGNS.get(row.severity, "INFO")
    others = f" and {several(len(entry.clusters) - 1, 'more cluster')}" if entry.clusters[1:] else ""
    return f"- **{sign}** ({prose(', '.join(notes))}) {_where(row)}{others}: {prose(row.summary)}\n  {step}\n"


def _where(row: FindingRow) -> str:
    return f"{code(row.cluster, _NAME)} {code(f'{row.code} {row.object}', _NAME)}"


def _mutes(report: AuditReport) -> str:
    expired = [m for m in report.mutes if m.expired]
    active = len(report.mutes) - len(expired)
    if not report.mutes:
        return ""
    parts = [f"{several(active, 'mute')} in force"] if active else []
    parts += [f"**{several(len(expired), 'mute')} expired**"] if expired else []
    return f"\n{', '.join(parts)}.\n"


def _name(text: str) -> str:
    return code(text, _NAME)


def prose(text: str, most: int = _SUMMARY) -> str:
    """Returns escaped Markdown (`for_markdown`) of a text shortened to `most` characters."""
    return for_markdown(shortened(text, most))


def code(text: str, most: int) -> str:
    """Returns a code span (`for_markdown_code`) of a text shortened to `most` characters."""
    return for_markdown_code(shortened(text, most))
