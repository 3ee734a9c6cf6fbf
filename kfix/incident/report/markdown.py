"""The post-mortem as Markdown, for a wiki or a ticket: the content of the page, with the picture in words.

Text from the cluster is escaped: no name becomes a link, a mention, a heading or HTML.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kfix.core.events import Lane, Span
from kfix.core.harmless import for_markdown, shortened
from kfix.core.wording import several, some
from kfix.incident.model import EventRow, IncidentReport, LossRow
from kfix.incident.report import facts
from kfix.incident.report.words import TimeFormat, day, headline, held, lane_name, named, ruling, seen, story_spans, up

#: Most rows of the timeline; the rest is counted. The page has the same limit.
EVENTS: Final = 1000
_TEXT: Final = 600
_MARKS: Final = {"bad": "**!** ", "good": "**+** ", "act": "**>** "}


def incident_markdown(report: IncidentReport) -> str:
    """Returns the report as Markdown, with a line end at the end."""
    clock = TimeFormat(report)
    parts = [
        _head(report),
        _table(("", "", ""), [*facts.times(report, clock), *facts.durations(report), *facts.affected(report)]),
        _section("Cause, as diagnosed", _causes(report, clock)),
        _section("Actions taken", _runs(report, clock)),
        _section("Data loss", (f"- **{_md(r.certainty)}**: {_md(r.text)}{_where(r)}" for r in report.losses)),
        _section("Open questions", (f"- {_md(q)}" for q in report.questions)),
        _section("Leaders and in-sync replicas", _picture(report, clock)),
        _section("Timeline (UTC)", _events(report, clock)),
        _section("Sources", _sources(report)),
    ]
    return "\n".join(part for part in parts if part)


def summary_text(report: IncidentReport) -> str:
    clock = TimeFormat(report)
    rows = [*facts.times(report, clock), *facts.durations(report), *facts.affected(report)]
    wide = max(len(r.name) for r in rows)
    lines = [shortened(headline(report), _TEXT), *(f"  {r.name:<{wide}}  {shortened(r.value, 160)}" for r in rows)]
    lines += [f"  open question: {shortened(q, 200)}" for q in report.questions]
    return "\n".join(lines) + "\n"


def _head(report: IncidentReport) -> str:
    about = "; ".join(f"{f.name.lower()} {f.value}" for f in facts.about(report)[:2])
    return (
        f"# {_md(report.title)}\n\n{_md(headline(report))}\n\n"
        f"{day(report.since)}, all times UTC; {_md(about)}; kfix {_md(report.kfix)}\n"
    )


def _section(title: str, lines: Iterable[str]) -> str:
    body = "\n".join(lines)
    return f"## {title}\n\n{body}\n" if body else ""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(_md(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _causes(report: IncidentReport, clock: TimeFormat) -> Iterator[str]:
    for row in report.causes:
        yield f"- **{row.severity} {_md(row.code)}** {_md(row.obj)}: {_md(row.summary)}"
        yield f"  - cause ({row.confidence}): {_md(row.cause)}"
        yield f"  - {seen(row, clock)}"
    if not report.causes:
        yield "No snapshot has a finding."


def _runs(report: IncidentReport, clock: TimeFormat) -> Iterator[str]:
    for run in report.runs:
        ended = "unknown" if run.ended is None else clock.at(run.ended)
        yield f"- **{_md(run.runbook)}** by {_md(run.who)}, {clock.at(run.began)} to {ended}: {_md(run.outcome)}"
        yield f"  - {_md(run.title)} (run {_md(run.id)}, for {_md(run.finding)})"
        yield from (f"  - approval: {_md(a)}" for a in run.approvals)
        yield from (f"  - changed: {_md(c)}" for c in run.changed)
        if run.proof:
            yield f"  - verified: {_md(run.proof)}"
        yield from (f"  - {_md(n)}" for n in run.notes)
    if not report.runs:
        yield "No run journal was given. Manual changes are not recorded."


def _picture(report: IncidentReport, clock: TimeFormat) -> Iterator[str]:
    drawn = report.picture
    for lane in drawn.partitions:
        yield f"- **{_md(lane_name(lane.partitions))}**: {_story(lane, held, clock)}"
        if len(lane.partitions) > 1:
            yield f"  - the same history: {_md(named(lane.partitions))}"
    if drawn.controller is not None:
        yield f"- **controller**: {_story(drawn.controller, ruling, clock)}"
    yield from (f"- **{_md(lane.name)}**: {_story(lane, up, clock)}" for lane in drawn.brokers)
    if drawn.hidden[0]:
        histories = several(drawn.hidden[0], "more history", "more histories")
        yield f"- {histories} of {several(drawn.hidden[1], 'partition')} left out; `--json` has their events"
    if drawn.unchanged:
        yield f"- {several(drawn.unchanged, 'partition')} without a change"


def _story(lane: Lane, describe: Callable[[Span], str], clock: TimeFormat) -> str:
    return "; ".join(f"{clock.at(s.begin)} {_md(describe(s))}" for s in story_spans(lane.spans))


def _events(report: IncidentReport, clock: TimeFormat) -> Iterator[str]:
    shown, left = chosen(report.events)
    yield "| time | what | where | source |"
    yield "|---|---|---|---|"
    for row in shown:
        text = _MARKS.get(row.tone, "") + _md(row.text)
        yield f"| {clock.event(row)} | {text} | {_md(place(row))} | {_md(source(row))} |"
    if left:
        yield f"\n{several(left, 'minor event')} left out; `--json` has all."


def chosen(events: tuple[EventRow, ...]) -> tuple[tuple[EventRow, ...], int]:
    """Returns at most `EVENTS` events, without the minor ones first, and the number of events left out."""
    if len(events) <= EVENTS:
        return events, 0
    loud = [e for e in events if e.tone != "plain"][:EVENTS]
    room = EVENTS - len(loud)
    quiet = [e for e in events if e.tone == "plain"][:room]
    return tuple(sorted((*loud, *quiet), key=lambda e: e.at)), len(events) - len(loud) - len(quiet)


def place(row: EventRow) -> str:
    if row.partitions:
        return named(row.partitions)
    return f"broker {row.broker}" if row.broker is not None else ""


def source(row: EventRow) -> str:
    """Returns the first sources and the number of the others."""
    return some(row.sources, 3)


def _sources(report: IncidentReport) -> Iterator[str]:
    for row in report.sources:
        problems = "".join(f"; **{_md(t)}**" for t in row.problems)
        yield f"- {_md(row.kind)} {_md(row.name)}: {_md(row.content)}{problems}"
    yield from (
        f"- {f.name.lower()}: {_md(f.value)}{f' ({_md(f.why)})' if f.why else ''}" for f in facts.about(report)[2:]
    )


def _where(row: LossRow) -> str:
    return f" ({_md(named(row.partitions))})" if row.partitions and str(row.partitions[0]) not in row.text else ""


def _md(text: str) -> str:
    return for_markdown(shortened(str(text), _TEXT))
