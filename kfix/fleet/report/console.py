"""An audit for a terminal or a cron mail: headline, clusters of unknown state, what to do first, riskiest clusters."""

from collections.abc import Iterator

from rich.console import Console

from kfix.core.harmless import squeezed
from kfix.core.wording import several
from kfix.fleet.model.audit import AuditReport, ClusterRow, MuteSeen
from kfix.fleet.report.order import ReportEntry, first_things
from kfix.fleet.report.totals import (
    Totals,
    fresh_expiries,
    has_news,
    in_maintenance,
    passed,
    totals,
    unknown_clusters,
)
from kfix.fleet.report.verdict import unread
from kfix.fleet.report.words import headline, next_step, since_words
from kfix.front.lines import Line, lines_text, print_lines

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
    yield from _first(report, limit, only_new=only_new)
    if not only_new:
        yield from _riskiest(report, limit)
    yield from _passed(report, limit)
    yield from _not_read(report, limit)
    yield from _mutes(fresh_expiries(report) if only_new else report.mutes, limit)


def _headline(report: AuditReport, sums: Totals) -> Iterator[Line]:
    style = STYLES["critical"] if sums.critical else STYLES["warning"] if sums.warning or sums.unknown else "bold green"
    numbers = f"findings: {sums.critical} critical, {sums.warning} warning, {sums.info} info"
    score = "unknown" if sums.score < 0 else f"{sums.score:g} of 100"
    if sums.score >= 0 and sums.score_change is not None and (before := report.history.score):
        change = f"{sums.score_change:+g}" if sums.score_change else "unchanged"
        score += f" ({change} since {before.day} over {several(before.clusters, 'cluster')} read both times)"
    yield Line(f"audit of {report.day}: {headline(report, sums, squeezed)}", style=style, hang=STEP)
    yield Line(f"{numbers}; score {score}", hang=STEP)
    yield Line(f"{sums.collected} of {several(sums.clusters, 'cluster')} read{_compared(report, sums)}", hang=STEP)
    yield Line(squeezed(f"run {report.run}, kfix {report.kfix}, {report.engine}"), style="dim", hang=STEP)


def _compared(report: AuditReport, sums: Totals) -> str:
    if not report.previous_run:
        return f"; first audit, so every finding is new; {sums.muted} muted"
    return (
        f"; since the audit of {report.previous_day or squeezed(report.previous_run)}: {sums.new} new, "
        f"{sums.worse} worse, {sums.still} still open, {sums.fixed} fixed; {sums.muted} muted"
    )


def _unknown(report: AuditReport, limit: int) -> Iterator[Line]:
    rows = unknown_clusters(report)
    if rows:
        yield Line("")
        title = f"STATE UNKNOWN, not scored: {several(len(rows), 'cluster')} could not be read"
        yield Line(title, style=STYLES["warning"])
    for row in rows[:limit]:
        at_work = f" (in maintenance: {squeezed(row.maintenance)})" if row.maintenance else ""
        yield Line(f"{squeezed(row.cluster)}: {squeezed(row.why) or 'no reason given'}{at_work}", STEP, hang=STEP)
    yield from _rest(len(rows), limit, "cluster")


def _rest(n: int, limit: int, noun: str) -> Iterator[Line]:
    if n > limit:
        yield Line(f"and {several(n - limit, f'more {noun}')}", STEP, "dim", hang=STEP)


_HEADER = "score  risk  crit  warn  info   new  cluster"


def _riskiest(report: AuditReport, limit: int) -> Iterator[Line]:
    """Yields the clusters with findings. Names come last, so that a long one wraps without shifting the numbers."""
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
    owner = f" ({squeezed(row.owner)})" if row.owner else ""
    at_work = f", in maintenance: {squeezed(row.maintenance)}" if row.maintenance else ""
    return f"{cells}  {squeezed(row.cluster)}{owner}{at_work}"


def _first(report: AuditReport, limit: int, *, only_new: bool) -> Iterator[Line]:
    at_work = in_maintenance(report)
    found = first_things(report, only_new=only_new)
    if found:
        yield Line("")
        yield Line("new or worse:" if only_new else "do first:", style="bold")
    for number, entry in enumerate(found[:limit], 1):
        yield from _entry(entry, number, at_work=at_work.issuperset(entry.clusters))
    yield from _rest(len(found), limit, "cause")


def _entry(entry: ReportEntry, number: int, *, at_work: bool) -> Iterator[Line]:
    row = entry.row
    remedy, command = next_step(row)
    notes = ", ".join([*entry.notes, *(["in maintenance"] if at_work else [])])
    title = f"{number}. {row.severity.upper()} {row.code} {squeezed(entry.where)}: {squeezed(row.object)} ({notes})"
    yield Line(title, STEP, STYLES.get(row.severity, ""), hang=STEP)
    yield Line(f"{squeezed(row.summary)} ({since_words(row)})", 2 * STEP)
    if remedy:
        yield Line(f"next: {squeezed(remedy)}", 2 * STEP, hang=STEP)
    yield Line(command, 2 * STEP, "green", verbatim=True)


def _passed(report: AuditReport, limit: int) -> Iterator[Line]:
    found = passed(report)
    if found:
        yield Line("")
        yield Line("began and ended since the last report:", style="bold")
    for row in found[:limit]:
        yield Line(
            f"{row.severity.upper()} {row.code} {squeezed(row.cluster)}: {squeezed(row.summary)}", STEP, hang=STEP
        )
    yield from _rest(len(found), limit, "finding")


def _not_read(report: AuditReport, limit: int) -> Iterator[Line]:
    """Yields the unread sources of clusters that were read; `_unknown` lists the clusters that were not."""
    whole = {f"{c.cluster}: {c.why}" for c in unknown_clusters(report)}
    lines = [line for line in unread(report) if line not in whole]
    if lines:
        yield Line("")
        yield Line("not read (state unknown):", style=STYLES["warning"])
    for line in lines[:limit]:
        yield Line(squeezed(line), STEP, hang=STEP)
    yield from _rest(len(lines), limit, "source")


def _mutes(mutes: tuple[MuteSeen, ...], limit: int) -> Iterator[Line]:
    # Expired mutes come first: they need a decision.
    mutes = tuple(sorted(mutes, key=lambda m: (not m.expired, m.until)))
    if mutes:
        yield Line("")
        yield Line("mutes:", style="bold")
    for mute in mutes[:limit]:
        yield Line(mute_words(mute), STEP, "yellow" if mute.expired else "", hang=STEP)
    yield from _rest(len(mutes), limit, "mute")


def mute_words(mute: MuteSeen) -> str:
    """Returns one line: last day or expiry, findings, clusters, reason, author and the number of covered findings."""
    by = f", by {mute.by}" if mute.by else ""
    state = f"EXPIRED {mute.until}" if mute.expired else f"until {mute.until}"
    covers = "no longer covers anything" if mute.expired else f"covers {several(mute.covers, 'finding')}"
    return squeezed(f"{state}: {mute.findings} on {mute.clusters}: {mute.reason or 'no reason given'}{by}; {covers}")
