"""A diagnosis on one screen: what is broken for whom, its cause, and the next command; then each finding.

The full report (`kfix diagnose --verbose`) has the rest, above all the evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from textwrap import shorten
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console

    from kfix.front.plain import PlainConsole

from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Blocked, Diagnosis, Finding, Remedy, Severity
from kfix.core.wording import several, some
from kfix.diagnose.report import table
from kfix.diagnose.report.snapshot import reach_lines
from kfix.diagnose.report.verdict import UNREAD
from kfix.front.lines import NARROWEST, Line, height, print_lines

#: The most lines that a diagnosis may take, apart from sources that were not read and unfinished runs.
MOST_LINES: Final = 40
#: For pipes and files, where no line is cut.
NO_LIMIT: Final = 1_000_000
_CONSEQUENCES_SHOWN: Final = 3
_BLOCKED_SHOWN: Final = 3
_GROUPS_SHOWN: Final = 6
_MUTED_SHOWN: Final = 3
_NAMED: Final = 12
_GROUPED: Final = 6
_CODES_SHOWN: Final = 6


def print_screen(diagnosis: Diagnosis, console: Console | PlainConsole) -> None:
    width = max(console.width, NARROWEST)
    print_lines(screen_lines(diagnosis, width, MOST_LINES if console.is_terminal else NO_LIMIT), console)


def first_lines(diagnosis: Diagnosis) -> list[Line]:
    """Returns the first lines for a first snapshot that shows something wrong, marked as not confirmed."""
    lines = [*_triage_lines(_triage(in_groups(diagnosis), diagnosis))]
    return [Line("confirming a first verdict:", style="bold yellow"), *lines] if lines else []


@dataclass(frozen=True, slots=True)
class Triage:
    """What the first lines say about `head`, a finding with its consequences.

    `what` is the worst of them, `head` its cause; they may be the same. `blocked` and `unaffected` have one entry for
    each kind of client. `then` is what `what` needs once `next` is done, if that is a command.
    """

    head: Finding
    what: Finding
    blocked: tuple[str, ...]
    unaffected: tuple[str, ...]
    next: Remedy | None
    then: Remedy | None

    @property
    def never(self) -> str:
        return next(iter((*self.what.never, *self.head.never)), "")


def triage_of(head: Finding, every: Diagnosis, blocked: Sequence[Blocked] | None = None) -> Triage:
    """Returns the first lines about a finding of the diagnosis `every`; `blocked` replaces its own blocked clients."""
    what = max(head.walk(), key=lambda f: f.severity)
    blocked = blocked or [f.blocked for f in head.walk() if f.severity is Severity.CRITICAL] or [head.blocked]
    step = _first_step(head, every)
    then = next((r for r in what.remedies if r.command), None) if what is not head else None
    unaffected = dict.fromkeys(b.unaffected for b in blocked if b.unaffected)
    return Triage(head, what, tuple(_blocked(blocked)), tuple(unaffected), step, None if then == step else then)


def screen_lines(diagnosis: Diagnosis, width: int, most: int = MOST_LINES) -> Iterator[Line]:
    """Yields at most about `most` lines; `width` is the terminal's, since wrapped lines count."""
    every, diagnosis = diagnosis, in_groups(diagnosis)
    triage = _triage(diagnosis, every)
    heads = [finding for finding in diagnosis.findings if finding.code != UNREAD]
    top = [table.headline(diagnosis), *_triage_lines(triage), *table.note_lines(diagnosis)]
    bottom = [table.looked_at_line(diagnosis, probes=False), *([_more(heads, diagnosis.profile)] if heads else [])]
    muted = [*table.muted_lines(diagnosis.muted, shown=_MUTED_SHOWN, profile=diagnosis.profile)]
    left = most - height([*top, *muted, *bottom], width) - 2  # empty lines
    body = [*reach_lines(diagnosis.vantages)]
    body += [Line(""), *_heads(heads, left, width, triage)] if heads else []
    body += [*table.not_read_lines(diagnosis), *muted, *table.unfinished_lines(diagnosis.unfinished)]
    yield from [*top, *body]
    if len(top) > 1 or body:
        yield Line("")
    yield from bottom


def _triage(diagnosis: Diagnosis, every: Diagnosis) -> Triage | None:
    """Returns the first lines about the most urgent finding, with all blocked clients; None if nothing is broken."""
    head = next((f for f in diagnosis.findings if f.code != UNREAD and f.worst > Severity.INFO), None)
    if head is None:
        return None
    return triage_of(head, every, [f.blocked for f in diagnosis.walk() if f.severity is Severity.CRITICAL])


def _triage_lines(triage: Triage | None) -> Iterator[Line]:
    """Yields what is broken and for whom, the cause, the next step, the one after it, and what not to do."""
    if triage is None:
        return
    what, head = triage.what, triage.head
    yield Line(f"what: {what.summary} ({what.code}).", style="bold", hang=table.STEP)
    yield from (Line(f"blocked: {each}", style="bold", hang=table.STEP) for each in triage.blocked)
    yield from (Line(f"not affected: {each}", hang=table.STEP) for each in triage.unaffected)
    yield (
        Line(f"cause: {head.summary} ({head.code}).", hang=table.STEP)
        if head is not what
        else table.cause_line(head, 0)
    )
    if triage.next:
        yield step_line(triage.next)
    if triage.then:
        yield step_line(triage.then, "then")
    if triage.never:
        yield Line(f"don't: {table.sentence(triage.never.removeprefix('Do not '))}", hang=table.STEP)


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
    code = table.worst_of(heads).code
    text = (
        f"details and evidence: kfix diagnose{table.named_again(profile)} --verbose; about a code: kfix explain {code}"
    )
    return Line(text, style="dim", hang=table.STEP)


def _heads(heads: Sequence[Finding], left: int, width: int, triage: Triage | None) -> Iterator[Line]:
    """Yields the details of findings as long as each further finding still gets one line."""
    named = heads[:_NAMED]
    left -= len(named) < len(heads)
    for number, head in enumerate(named):
        first = triage if triage is not None and head is triage.head else None
        room = left - (len(named) - number - 1)
        ways = ([*_details(head, first, _consequence)], [*_details(head, first, partial(_in_one_line, width=width))])
        shown = next((way for way in ways if height(way, width) <= room), [_in_one_line(head, 0, width)])
        yield from shown
        left -= height(shown, width)
    if rest := heads[len(named) :]:
        yield Line(
            f"and {several(len(rest), 'more finding')}: {_codes(rest)}",
            0,
            table.STYLES[table.worst_of(rest).severity],
            table.STEP,
        )


def _consequence(finding: Finding, indent: int) -> Line:
    return Line(
        f"{table.title(finding)}: {table.sentence(finding.summary)}",
        indent,
        table.STYLES[finding.worst],
        hang=table.STEP,
    )


def _in_one_line(finding: Finding, indent: int, width: int) -> Line:
    text = shorten(f"{table.title(finding)}: {finding.summary}", width - indent, placeholder=" ...")
    return Line(text, indent, table.STYLES[finding.worst], verbatim=True)


def _details(finding: Finding, triage: Triage | None, consequence: Callable[[Finding, int], Line]) -> Iterator[Line]:
    """Yields cause, remedy, what not to do and consequences, without repeating the first lines of the screen."""
    yield Line(table.title(finding), 0, table.STYLES[finding.worst], hang=table.STEP)
    if triage is None:
        yield Line(table.sentence(finding.summary), table.STEP, hang=table.STEP)
    if triage is None or triage.what is not finding:
        yield table.cause_line(finding, table.STEP)
    if finding.remedies and triage is None:
        yield step_line(finding.remedies[0], indent=table.STEP)
    never = [each for each in finding.never if triage is None or each != triage.never]
    if never and finding.worst > Severity.INFO:
        more = f" ({len(never) - 1} more)" if len(never) > 1 else ""
        yield Line(f"{never[0]}{more}", table.STEP, hang=table.STEP)
    yield from _consequences(finding, triage, consequence)


def _consequences(
    finding: Finding, triage: Triage | None, consequence: Callable[[Finding, int], Line]
) -> Iterator[Line]:
    every = [f for child in finding.folded for f in child.walk() if f.code != UNREAD]
    children = [child for child in every if triage is None or child is not triage.what]
    shown = children if len(children) <= _CONSEQUENCES_SHOWN else children[: _CONSEQUENCES_SHOWN - 1]
    for child in shown:
        yield consequence(replace(child, folded=()), table.STEP)
    if rest := [replace(child, folded=()) for child in children[len(shown) :]]:
        yield Line(f"and {several(len(rest), 'more consequence')}: {_codes(rest)}", table.STEP, hang=table.STEP)


def step_line(remedy: Remedy, label: str = "next", indent: int = 0) -> Line:
    if remedy.command:
        # One line to paste; the full report has its sentence.
        return Line(f"{label}: {remedy.command}", indent, "green", verbatim=True)
    return Line(f"{label}: {table.sentence(remedy.text)}", indent, hang=table.STEP)


def _codes(findings: Iterable[Finding]) -> str:
    counted = Counter((f.worst.word, f.code) for f in findings)
    return some(
        [f"{code} {word} ({n})" if n > 1 else f"{code} {word}" for (word, code), n in counted.items()], _CODES_SHOWN
    )


# Findings of single partitions that share cause and remedy are one finding that lists them. JSON keeps one key per
# partition, and the full report shows each with its own evidence.


def in_groups(diagnosis: Diagnosis) -> Diagnosis:
    """Returns the diagnosis with one finding for each group; the rest stays as it is."""
    groups = grouped((_same(finding), finding) for finding in diagnosis.findings)
    return replace(diagnosis, findings=tuple(map(_one_of, groups.values())))


def _same(finding: Finding) -> object:
    """Returns what findings of one group have in common; for any other finding, its key."""
    if len(finding.partitions) != 1 or finding.obj != str(finding.partitions[0]):
        return finding.key
    first = finding.remedies[0] if finding.remedies else None
    return (
        finding.code,
        finding.severity,
        finding.unsettled,
        finding.cause,
        finding.never,
        first and (first.text, first.command),
    )


def _one_of(group: list[Finding]) -> Finding:
    first = group[0]
    if len(group) == 1:
        return first
    # Their durations may differ: only cause and remedy are the same.
    verb = "has" if len(group) == 2 else "have"
    more = f"{several(len(group) - 1, 'more partition')} {verb} the same cause and the same remedy"
    return replace(
        first,
        obj=some([finding.obj for finding in group], _GROUPED),
        summary=f"{first.summary}. {more}",
        blocked=_together([finding.blocked for finding in group]),
        partitions=tuple(tp for finding in group for tp in finding.partitions),
        folded=tuple(child for finding in group for child in finding.folded),
    )


def _together(each: Iterable[Blocked]) -> Blocked:
    blocked = [*each]
    who = [*dict.fromkeys(b.who for b in blocked if b.who)]
    first = who[0] if who else ""
    return Blocked(
        f"{first}, and of {several(len(who) - 1, 'more partition')}" if len(who) > 1 else first,
        tuple(sorted({name for b in blocked for name in b.groups})),
        any(b.others_unknown for b in blocked),
    )
