"""An audit for a terminal or a cron mail: headline, clusters of unknown state, riskiest clusters, new findings."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from kfix.model.audit.audit import AuditReport, ClusterRow, FindingRow, MuteSeen
from kfix.report.findings.lines import Line, lines_text, print_lines
from kfix.report.fleet.totals import Totals, fresh_expiries, has_news, in_maintenance, news, totals, unknown_clusters
from kfix.report.fleet.verdict import unread
from kfix.report.fleet.words import amount, next_step, one_line, pasted, since_words

STYLES = {"critical": "bold red", "warning": "bold yellow", "info": "bold cyan"}
STEP = 2
LIMIT = 10


def print_audit(report: AuditReport, console: Console, *, only_new: bool = False, limit: int = LIMIT) -> None:
    """Prints the audit. `limit` is the maximum length of each list; the rest is counted.

    With `only_new`, nothing is printed unless a finding is new or worse, another cluster could not be read, or a mute
    expired; clusters in maintenance do not count. Otherwise the headline and the news are printed.
    """
    print_lines(audit_lines(report, only_new=only_new, limit=limit), console)


def audit_text(report: AuditReport, width: int = 100, *, only_new: bool = False, limit: int = LIMIT) -> str:
    return lines_text(audit_lines(report, only_new=only_new, limit=limit), width)


def audit_lines(report: AuditReport, *, only_new: bool = False, limit: int = LIMIT) -> Iterator[Line]:
    if only_new and not has_news(report):
        return
    yield from _headline(report, totals(report))
    yield from _unknown(report, limit)
    if not only_new:
        yield from _riskiest(report, limit)
    yield from _news(report, limit)
    yield from _not_read(report, limit)
    yield from _mutes(fresh_expiries(report) if only_new else report.mutes, limit)


def _headline(report: AuditReport, sums: Totals) -> Iterator[Line]:
    style = STYLES["critical"] if sums.critical else STYLES["warning"] if sums.warning or sums.unknown else "bold green"
    numbers = [f"{sums.critical} critical", f"{sums.warning} warning", f"{sums.info} info"] if sums.open else []
    if not numbers:
        numbers = ["nothing found, but not every cluster was read"] if sums.unknown else ["nothing found"]
    score = "unknown" if sums.score < 0 else f"{sums.score} of 100"
    if sums.score >= 0 and sums.previous_score >= 0:
        score += f" ({sums.score - sums.previous_score:+d} since {report.trend[-2].day.isoformat()})"
    yield Line(f"audit of {report.day}: {', '.join(numbers)}; score {score}", style=style, hang=STEP)
    collected = f"{sums.collected} of {amount(sums.clusters, 'cluster')} collected"
    yield Line(f"{collected}{_compared(report, sums)}", hang=STEP)
    yield Line(one_line(f"run {report.run}, kfix {report.kfix}, {report.engine}"), style="dim", hang=STEP)


def _compared(report: AuditReport, sums: Totals) -> str:
    if not report.previous_run:
        return f"; the first audit, so all is new; {sums.muted} muted"
    return (
        f"; against {report.previous_day or one_line(report.previous_run)}: {sums.new} new, {sums.worse} worse, "
        f"{sums.still} still there, {sums.fixed} fixed; {sums.muted} muted"
    )


def _unknown(report: AuditReport, limit: int) -> Iterator[Line]:
    rows = unknown_clusters(report)
    if rows:
        yield Line("")
        yield Line(f"UNKNOWN: {amount(len(rows), 'cluster')} could not be looked at", style=STYLES["warning"])
    for row in rows[:limit]:
        at_work = f" (in maintenance: {one_line(row.maintenance)})" if row.maintenance else ""
        yield Line(f"{one_line(row.cluster)}: {one_line(row.why) or 'no reason told'}{at_work}", STEP, hang=STEP)
    yield from _rest(len(rows), limit, "cluster")


def _rest(n: int, limit: int, noun: str) -> Iterator[Line]:
    if n > limit:
        yield Line(f"and {amount(n - limit, f'more {noun}')}", STEP, "dim", hang=STEP)


_HEADER = "score  risk  crit  warn  info   new  cluster"


def _riskiest(report: AuditReport, limit: int) -> Iterator[Line]:
    """Those with something to say. Names stand last, so that a long one wraps and shifts no number."""
    rows = [c for c in report.clusters if c.collected and (c.risk > 0 or c.critical or c.warning or c.info)]
    if rows:
        yield Line("")
        yield Line("riskiest clusters:", style="bold")
        yield Line(_HEADER, STEP, "dim", hang=STEP)
    for row in rows[:limit]:
        style = "red" if row.critical else "yellow" if row.warning else ""
        yield Line(_cluster(row), STEP, style, hang=STEP)
    yield from _rest(len(rows), limit, "cluster")


def _cluster(row: ClusterRow) -> str:
    numbers = (row.score, row.risk, row.critical, row.warning, row.info, row.new + row.worse)
    widths = (5, 6, 6, 6, 6, 6)
    cells = "".join(f"{n:>{width}}" for n, width in zip(numbers, widths, strict=True))
    owner = f" ({one_line(row.owner)})" if row.owner else ""
    at_work = f", in maintenance: {one_line(row.maintenance)}" if row.maintenance else ""
    return f"{cells}  {one_line(row.cluster)}{owner}{at_work}"


def _news(report: AuditReport, limit: int) -> Iterator[Line]:
    at_work = in_maintenance(report)
    found = news(report)
    # Those of a cluster in maintenance are told, after all others.
    found = tuple(sorted(found, key=lambda f: f.cluster in at_work))
    if found:
        yield Line("")
        yield Line("new and worse:" if report.previous_run else "findings:", style="bold")
    for row in found[:limit]:
        yield from _finding(row, at_work=row.cluster in at_work)
    yield from _rest(len(found), limit, "finding")


def _finding(row: FindingRow, *, at_work: bool) -> Iterator[Line]:
    remedy, command = next_step(row)
    notes = [row.status, *(["in maintenance"] if at_work else []), *(["prevention"] if row.prevention else [])]
    title = f"{row.severity.upper()} {row.code} {one_line(row.cluster)}: {one_line(row.object)} ({', '.join(notes)})"
    yield Line(title, STEP, STYLES.get(row.severity, ""), hang=STEP)
    yield Line(f"{one_line(row.summary)} ({since_words(row)})", 2 * STEP)
    if remedy:
        yield Line(f"next: {one_line(remedy)}", 2 * STEP, hang=STEP)
    yield Line(pasted(command), 2 * STEP, "green", verbatim=True)


def _not_read(report: AuditReport, limit: int) -> Iterator[Line]:
    """What is missing of clusters that were looked at; whole clusters are told before."""
    whole = {f"{c.cluster}: {c.why}" for c in unknown_clusters(report)}
    lines = [line for line in unread(report) if line not in whole]
    if lines:
        yield Line("")
        yield Line("not read, so not known:", style=STYLES["warning"])
    for line in lines[:limit]:
        yield Line(one_line(line), STEP, hang=STEP)
    yield from _rest(len(lines), limit, "source")


def _mutes(mutes: tuple[MuteSeen, ...], limit: int) -> Iterator[Line]:
    # Expired ones first: they want a decision.
    mutes = tuple(sorted(mutes, key=lambda m: (not m.expired, m.until)))
    if mutes:
        yield Line("")
        yield Line("mutes:", style="bold")
    for mute in mutes[:limit]:
        yield Line(mute_words(mute), STEP, "yellow" if mute.expired else "", hang=STEP)
    yield from _rest(len(mutes), limit, "mute")


def mute_words(mute: MuteSeen) -> str:
    """One line: what it covers, why, by whom, until when; an expired one says so first."""
    by = f", by {mute.by}" if mute.by else ""
    state = f"EXPIRED {mute.until}" if mute.expired else f"until {mute.until}"
    covers = "covers nothing any more" if mute.expired else f"covers {amount(mute.covers, 'finding')}"
    return one_line(f"{state}: {mute.findings} on {mute.clusters}: {mute.reason or 'no reason'}{by}; {covers}")
