"""A diagnosis on one screen: who is blocked, why, and the next command; then each finding with its cause and remedy.

The full report (`kfix diagnose --verbose`) has the rest, above all the evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console

    from kfix.front.plain import PlainConsole

from kfix.core.diagnosis.finding import Blocked, Diagnosis, Finding, Remedy, Severity
from kfix.core.wording import several, some
from kfix.diagnose.report.grouping import grouped
from kfix.diagnose.report.reach import reach_lines
from kfix.diagnose.report.table import (
    STEP,
    STYLES,
    cause_line,
    headline,
    looked_at_line,
    muted_lines,
    named_again,
    not_read_lines,
    note_lines,
    sentence,
    title,
    worst_of,
)
from kfix.diagnose.report.unfinished_runs import unfinished_lines
from kfix.diagnose.report.verdict import UNREAD
from kfix.front.lines import NARROWEST, Line, lines_text, print_lines

#: The most lines that a diagnosis may take, apart from sources that were not read and unfinished runs.
MOST_LINES: Final = 40
_CONSEQUENCES_SHOWN: Final = 3
_BLOCKED_SHOWN: Final = 3
_GROUPS_SHOWN: Final = 6
_MUTED_SHOWN: Final = 3
_NAMED: Final = 12
_CODES_SHOWN: Final = 6


def print_screen(diagnosis: Diagnosis, console: Console | PlainConsole) -> None:
    width = max(console.width, NARROWEST)
    print_lines(screen_lines(diagnosis, width), console)


def print_first(diagnosis: Diagnosis, console: Console | PlainConsole) -> None:
    """Prints the first lines for a first snapshot that shows something wrong, marked as not confirmed."""
    if lines := [*_triage(diagnosis)]:
        print_lines([Line("confirming a first verdict:", style="bold yellow"), *lines], console)


@dataclass(frozen=True, slots=True)
class Triage:
    """One finding's first lines: who is blocked, why, what to do. `blocked` is empty if unknown or if no client is."""

    blocked: str
    why: str
    remedy: Remedy | None


def triage_of(finding: Finding, every: Diagnosis) -> Triage:
    """Returns the first lines about a finding of the diagnosis `every`."""
    urgent = [f.blocked for f in finding.walk() if f.severity is Severity.CRITICAL] or [finding.blocked]
    return Triage("; ".join(_blocked(urgent)), sentence(finding.summary), _first_step(finding, every))


def screen_lines(diagnosis: Diagnosis, width: int) -> Iterator[Line]:
    """Yields the lines; `width` is the terminal's, since wrapped lines count."""
    triage, diagnosis = [*_triage(diagnosis)], grouped(diagnosis)
    heads = [finding for finding in diagnosis.findings if finding.code != UNREAD]
    top = [headline(diagnosis), *triage, *note_lines(diagnosis)]
    bottom = [looked_at_line(diagnosis, probes=False), *([_more(heads, diagnosis.profile)] if heads else [])]
    muted = [*muted_lines(diagnosis.muted, shown=_MUTED_SHOWN, profile=diagnosis.profile)]
    left = MOST_LINES - _height([*top, *muted, *bottom], width) - 2  # empty lines
    body = [*reach_lines(diagnosis.vantages)]
    body += [Line(""), *_heads(heads, left, width, urgent=_most_urgent(diagnosis))] if heads else []
    body += [*not_read_lines(diagnosis), *muted, *unfinished_lines(diagnosis.unfinished)]
    yield from [*top, *body]
    if len(top) > 1 or body:
        yield Line("")
    yield from bottom


def _triage(diagnosis: Diagnosis) -> Iterator[Line]:
    """Yields who is blocked, the reason, and the next command, but only if something is broken today."""
    every, diagnosis = diagnosis, grouped(diagnosis)
    head = _most_urgent(diagnosis)
    if head is None:
        return
    if parts := _blocked([f.blocked for f in diagnosis.walk() if f.severity is Severity.CRITICAL] or [head.blocked]):
        yield Line(f"blocked: {'; '.join(parts)}", style="bold", hang=STEP)
    yield Line(f"why: {sentence(head.summary)}", hang=STEP)
    if remedy := _first_step(head, every):
        yield next_line(remedy, 0)


def _first_step(head: Finding, every: Diagnosis) -> Remedy | None:
    """Returns the first remedy of a finding, or of the finding that has to be resolved before it.

    `every` has the findings of single partitions, whose keys remedies name.
    """
    by_key = {finding.key: finding for finding in every.walk()}
    at: Finding | None = head
    for _ in by_key:
        if at is None or not at.remedies:
            break
        first = at.remedies[0]
        if not first.after:
            return first
        at = by_key.get(first.after)
        if at is not None and (free := next((r for r in at.remedies if not r.after), None)):
            return free
    return head.remedies[0] if head.remedies else None


def _blocked(each: Iterable[Blocked]) -> list[str]:
    blocked = [*each]
    groups = sorted({name for b in blocked for name in b.groups})
    others = any(b.others_unknown for b in blocked)
    parts = []
    if groups:
        which = f"group {groups[0]}" if len(groups) == 1 else f"{len(groups)} groups: {some(groups, _GROUPS_SHOWN)}"
        parts.append(f"{which}{', and possibly others' if others else ''}")
    elif others:
        parts.append("the groups of these partitions")
    who = [*dict.fromkeys(b.who for b in blocked if b.who)]
    more = [f"clients of {several(len(who) - _BLOCKED_SHOWN, 'more finding')}"] if len(who) > _BLOCKED_SHOWN else []
    return [*parts, *who[:_BLOCKED_SHOWN], *more]


def _more(heads: Iterable[Finding], profile: str) -> Line:
    code = worst_of(heads).code
    text = f"details and evidence: kfix diagnose{named_again(profile)} --verbose; about a code: kfix explain {code}"
    return Line(text, style="dim", hang=STEP)


def _most_urgent(diagnosis: Diagnosis) -> Finding | None:
    return next((f for f in diagnosis.findings if f.code != UNREAD and f.worst > Severity.INFO), None)


def _heads(heads: Sequence[Finding], left: int, width: int, urgent: Finding | None) -> Iterator[Line]:
    """Yields the details of findings as long as each further finding still gets one line."""
    named = heads[:_NAMED]
    left -= len(named) < len(heads)
    for number, head in enumerate(named):
        whole = [Line(title(head), 0, STYLES[head.worst], hang=STEP), *_details(head, width, urgent=head is urgent)]
        if (height := _height(whole, width)) + len(named) - number - 1 > left:
            whole = [_in_one_line(head, 0, width)]
            height = 1
        yield from whole
        left -= height
    if rest := heads[len(named) :]:
        yield Line(
            f"and {several(len(rest), 'more finding')}: {_codes(rest)}", 0, STYLES[worst_of(rest).severity], STEP
        )


def _in_one_line(finding: Finding, indent: int, width: int) -> Line:
    text = shorten(f"{title(finding)}: {finding.summary}", width - indent, placeholder=" ...")
    return Line(text, indent, STYLES[finding.worst], verbatim=True)


def _details(finding: Finding, width: int, *, urgent: bool) -> Iterator[Line]:
    """Yields cause, remedy and what not to do, without repeating the first lines of the screen."""
    if not urgent:
        yield Line(sentence(finding.summary), STEP, hang=STEP)
    yield cause_line(finding, STEP)
    if finding.remedies and not urgent:
        yield next_line(finding.remedies[0], STEP)
    if finding.never and finding.worst > Severity.INFO:
        more = f" ({len(finding.never) - 1} more)" if len(finding.never) > 1 else ""
        yield Line(f"{finding.never[0]}{more}", STEP, hang=STEP)
    yield from _consequences(finding, width)


def _consequences(finding: Finding, width: int) -> Iterator[Line]:
    children = [f for child in finding.folded for f in child.walk() if f.code != UNREAD]
    shown = children if len(children) <= _CONSEQUENCES_SHOWN else children[: _CONSEQUENCES_SHOWN - 1]
    for child in shown:
        yield _in_one_line(replace(child, folded=()), STEP, width)
    if rest := [replace(child, folded=()) for child in children[len(shown) :]]:
        yield Line(f"and {several(len(rest), 'more consequence')}: {_codes(rest)}", STEP, hang=STEP)


def next_line(remedy: Remedy, indent: int) -> Line:
    if remedy.command:
        # One line to paste; the full report has its sentence.
        return Line(f"next: {remedy.command}", indent, "green", verbatim=True)
    return Line(f"next: {sentence(remedy.text)}", indent, hang=STEP)


def _codes(findings: Iterable[Finding]) -> str:
    counted = Counter((f.worst.word, f.code) for f in findings)
    return some(
        [f"{code} {word} ({n})" if n > 1 else f"{code} {word}" for (word, code), n in counted.items()], _CODES_SHOWN
    )


def _height(lines: Iterable[Line], width: int) -> int:
    return lines_text(lines, width).count("\n")
