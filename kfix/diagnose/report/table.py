"""A diagnosis for people: heads first, each with cause, blocked clients, evidence, remedies and what not to do."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kfix import __version__
from kfix.core.diagnosis.finding import (
    EVIDENCE_FOR,
    RULED_OUT,
    Blocked,
    Diagnosis,
    Evidence,
    Finding,
    MutedFinding,
    Remedy,
    Severity,
)
from kfix.core.wording import ago, several, some, utc_text
from kfix.diagnose.report.snapshot import reach_lines
from kfix.diagnose.report.verdict import UNREAD, counts_text, cut_short, held_back
from kfix.front.lines import Line, lines_text, print_lines

if TYPE_CHECKING:
    from rich.console import Console

    from kfix.core.run import UnfinishedRun
    from kfix.front.plain import PlainConsole


_STEPS_SHOWN = 4
_STEP = 2


def unfinished_lines(runs: tuple[UnfinishedRun, ...]) -> Iterator[Line]:
    """Unfinished runs of this host: what they changed, until when, and how to continue."""
    if runs:
        yield Line("")
        yield Line("unfinished runs on this host:", style="bold yellow")
    for run in runs:
        yield Line(f"{run.id}: {run.runbook} for {run.finding}, by {run.user} on {run.host}", _STEP, hang=_STEP)
        yield Line(f"{_fate(run)}; {_deeds(run)}", 2 * _STEP, hang=_STEP)
        yield Line(_next(run), 2 * _STEP, "green", verbatim=True)


def _fate(run: UnfinishedRun) -> str:
    if run.alive:
        return f"began {run.began}; its process is still carrying it out"
    if run.broken:
        return f"began {run.began}; its journal is damaged after {run.last}, so it may have changed more"
    end = f"stopped {run.last} ({run.outcome.replace('_', ' ')})" if run.outcome else f"was killed after {run.last}"
    return f"began {run.began}, {end}"


def _deeds(run: UnfinishedRun) -> str:
    parts = [f"changed {some(run.changed, _STEPS_SHOWN)}"] if run.changed else []
    parts += [f"the result of {some(run.doubtful, _STEPS_SHOWN)} is unknown"] if run.doubtful else []
    parts += ["its throttles are still set"] if run.throttles else []
    parts += ["its settings of compaction are still set"] if run.compaction else []
    parts += ["the retention that it holds is not restored"] if run.retention else []
    return "; ".join(parts) or "what it changed is unknown"


def _next(run: UnfinishedRun) -> str:
    if run.alive or run.broken or run.kfix != __version__:
        return f"kfix runbook history {run.id}"
    resume = f"kfix runbook resume {run.id}{run.options}"
    return f"{resume}   or   kfix runbook abort {run.id} --reason TEXT{run.options}"


STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
GROUPS_SHOWN = 12
STEP = 2


def print_findings(diagnosis: Diagnosis, console: Console | PlainConsole) -> None:
    print_lines(findings_lines(diagnosis), console)


def findings_text(diagnosis: Diagnosis, width: int = 100) -> str:
    return lines_text(findings_lines(diagnosis), width)


def findings_lines(diagnosis: Diagnosis) -> Iterator[Line]:
    yield from _top(diagnosis)
    yield from reach_lines(diagnosis.vantages)
    for finding in diagnosis.findings:
        if finding.code != UNREAD:
            yield Line("")
            yield from finding_lines(finding, full=finding.worst > Severity.INFO)
    yield from not_read_lines(diagnosis)
    yield from muted_lines(diagnosis.muted, shown=len(diagnosis.muted), profile=diagnosis.profile)
    yield from unfinished_lines(diagnosis.unfinished)
    if any(f.code != UNREAD for f in diagnosis.findings):
        yield Line("")
        yield Line(f"more about a code: kfix explain {worst_of(diagnosis.findings).code}", style="dim")


def _top(diagnosis: Diagnosis) -> Iterator[Line]:
    yield headline(diagnosis)
    yield looked_at_line(diagnosis)
    yield from note_lines(diagnosis)


def headline(diagnosis: Diagnosis) -> Line:
    """Returns the first line: the cluster and its verdict, or the number of findings by severity."""
    numbers = counts_text(diagnosis)
    worst = diagnosis.worst
    if worst is None or worst is Severity.INFO:
        verdict = "healthy" if not diagnosis.could_not_read else "nothing found, but some sources were not read"
        if diagnosis.headlines and not diagnosis.could_not_read:
            verdict = f"no alarm, but {'; '.join(diagnosis.headlines)}"
        elif cut_short(diagnosis) and not diagnosis.could_not_read:
            verdict = "nothing found, but a run is unfinished"
        if (muted := held_back(diagnosis)) and not diagnosis.could_not_read:
            verdict = f"no alarm, but {muted}" if verdict == "healthy" else f"{verdict}; {muted}"
        numbers = f"{verdict}{', with advice' if worst is not None and verdict == 'healthy' else ''}"
    elif diagnosis.degraded and worst is Severity.WARNING:
        numbers = f"DEGRADED ({numbers}): {diagnosis.degraded}"
    style = "bold green" if numbers.startswith("healthy") else STYLES.get(worst or Severity.INFO, "")
    if diagnosis.maintenance:
        numbers = f"in maintenance ({diagnosis.maintenance}): {numbers}"
    name = f"{diagnosis.profile} ({diagnosis.cluster})" if diagnosis.profile else diagnosis.cluster
    return Line(f"{name}: {numbers} ({utc_text(diagnosis.taken_at)})", style=style, hang=STEP)


def note_lines(diagnosis: Diagnosis) -> Iterator[Line]:
    for note in diagnosis.notes:
        yield Line(sentence(note), hang=STEP)


def looked_at_line(diagnosis: Diagnosis, *, probes: bool = True) -> Line:
    n = diagnosis.looked_at
    probed = f" ({_count(n, 'coordinator probe', 'probes')})" if probes else ""
    alive = f"{n['registered']} alive" if "registered" in n else "liveness unknown"
    said = (
        f"read {_count(n, 'broker')} ({alive}), {_count(n, 'partition')} of "
        f"{_count(n, 'topic')}, {_count(n, 'group')}{probed}, "
        f"{_count(n, 'source')} in {n.get('milliseconds', 0) / 1000:.2f} s"
    )
    return Line(said, style="dim", hang=STEP)


def _count(looked_at: Mapping[str, int], noun: str, key: str = "") -> str:
    return several(looked_at.get(key or f"{noun}s", 0), noun)


def not_read_lines(diagnosis: Diagnosis) -> Iterator[Line]:
    unread = [f for f in diagnosis.walk() if f.code == UNREAD]
    named = tuple(f"{f.obj}: " for f in unread)
    others = [each for each in diagnosis.could_not_read if not each.startswith(named)]
    if unread or others:
        yield Line("")
        yield Line("not read:", style=STYLES[Severity.WARNING])
    for finding in unread:
        yield Line(f"{finding.summary} ({finding.cause.text})", STEP, hang=STEP)
    yield from (Line(each, STEP, hang=STEP) for each in others)


def named_again(profile: str) -> str:
    """Returns the option that names the cluster again if it was read by its name in the inventory, else ""."""
    return f" -c {shlex.quote(profile)}" if profile else ""


def muted_lines(muted: Sequence[MutedFinding], *, shown: int, profile: str) -> Iterator[Line]:
    """Yields the muted findings with reason and last day, a line each, worst first; at most `shown` by name."""
    if muted:
        yield Line("")
        yield Line("muted by the inventory:", style="bold")
    ordered = sorted(muted, key=lambda m: -m.finding.worst)
    for each in ordered[:shown]:
        by = f", by {each.by}" if each.by else ""
        why = f"({each.reason}; until {each.until}{by})"
        yield Line(f"{title(each.finding)}: {sentence(each.finding.summary)} {why}", STEP, hang=STEP)
    if rest := ordered[shown:]:
        command = f"kfix diagnose{named_again(profile)} --verbose"
        yield Line(f"and {several(len(rest), 'more muted finding')}: {command}", STEP, hang=STEP)


def finding_lines(finding: Finding, indent: int = 0, *, full: bool = True, evidence: bool = True) -> Iterator[Line]:
    """Yields the lines of a finding; advice and folded findings are shown without evidence."""
    inner = indent + STEP
    yield Line(title(finding), indent, STYLES[finding.worst], hang=STEP)
    yield Line(sentence(finding.summary), inner)
    yield from blocked_lines(finding.blocked, inner)
    yield cause_line(finding, inner)
    if full and evidence:
        yield from evidence_lines(finding.evidence, inner)
    if full or finding.severity is Severity.CRITICAL or indent == 0:
        yield from remedy_lines(finding.remedies, inner)
    if full or finding.severity is Severity.CRITICAL:
        yield from _never(finding.never, inner)
    children = [child for child in finding.folded if child.code != UNREAD]
    if children:
        yield Line("consequences:", inner, "bold")
    for child in children:
        yield from finding_lines(child, inner + STEP, full=False)


def title(finding: Finding) -> str:
    return f"{finding.worst.word.upper()} {finding.code} {finding.obj}"


def cause_line(finding: Finding, indent: int) -> Line:
    return Line(f"cause ({finding.cause.confidence.value}): {finding.cause.text}", indent, hang=STEP)


def worst_of(findings: Iterable[Finding]) -> Finding:
    """Returns the most severe finding, folded ones included; the first of several."""
    return max((f for head in findings for f in head.walk()), key=lambda f: f.severity)


def blocked_lines(blocked: Blocked, indent: int) -> Iterator[Line]:
    parts = [blocked.who] if blocked.who else []
    if blocked.groups:
        parts.append(f"groups {some(blocked.groups, GROUPS_SHOWN)}")
    if blocked.others_unknown:
        which = "possibly other groups" if blocked.groups else "the groups of these partitions"
        parts.append(f"{which}; `kfix inspect log-dir DIR --groups all` lists them from the disk of a replica")
    if parts:
        yield Line(f"blocked: {'; '.join(parts)}", indent, hang=STEP)
    if blocked.unaffected:
        yield Line(f"not affected: {blocked.unaffected}", indent, hang=STEP)


def evidence_lines(evidence: tuple[Evidence, ...], indent: int) -> Iterator[Line]:
    if evidence:
        yield Line("evidence:", indent, "bold")
    for row in evidence:
        age = "" if row.age is None or row.age < 0 else f" ({ago(row.age)} old)"
        yield Line(f"{_evidence_words(row)}{age}", indent + STEP, hang=STEP)


def _evidence_words(row: Evidence) -> str:
    if row.source == EVIDENCE_FOR:
        return f"{EVIDENCE_FOR}: {row.value}"
    if row.source == RULED_OUT:
        return f"{RULED_OUT}: {row.what} ({row.value})"
    return f"{row.source}: {row.what}: {row.value}"


def sentence(text: str) -> str:
    """Returns the text with a period, unless it ends with a path, a command or punctuation of its own."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def remedy_lines(remedies: tuple[Remedy, ...], indent: int) -> Iterator[Line]:
    if remedies:
        yield Line("remedies, safest first:", indent, "bold")
    for number, remedy in enumerate(remedies, 1):
        yield Line(f"{number}. {sentence(remedy.text)}", indent + STEP, hang=3)
        if remedy.command:
            yield Line(remedy.command, indent + STEP + 3, "green", verbatim=True)


def _never(never: tuple[str, ...], indent: int) -> Iterator[Line]:
    if never:
        yield Line("do not:", indent, "bold")
    for text in never:
        yield Line(f"- {sentence(text)}", indent + STEP, hang=2)
