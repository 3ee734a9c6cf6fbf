"""Wording shared by all outputs of the post-mortem: times and their certainty, durations, names."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from kfix.core.events import Span, SpanCertainty
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import brokers_named, several, some, were
from kfix.incident.model import CauseRow, EventRow, IncidentReport, Moment, Summary

UNKNOWN: Final = "unknown"
#: Most ranges of partition numbers that are listed for one topic.
_RUNS: Final = 12


class TimeFormat:
    """Formats the times of one report in UTC, with the date if the report spans more than one day."""

    def __init__(self, report: IncidentReport) -> None:
        self._days = day(report.since) != day(report.until)
        self._fine = report.until - report.since < 3600

    def at(self, seconds: float) -> str:
        """Returns `22:01:42`, with tenths in a report of less than an hour, with the date in one of several days."""
        moment = datetime.fromtimestamp(seconds, UTC)
        text = moment.strftime("%H:%M:%S")
        if self._fine:
            text += f".{moment.microsecond // 100_000}"
        return f"{moment:%Y-%m-%d} {text}" if self._days else text

    def event(self, row: EventRow) -> str:
        if row.not_before is not None:
            return f"{self.at(row.not_before)} \N{EN DASH} {self.at(row.at)}"
        return self.at(row.at)

    def moment(self, moment: Moment | None) -> str:
        if moment is None:
            return UNKNOWN
        if moment.not_before is not None:
            return f"between {self.at(moment.not_before)} and {self.at(moment.at)} UTC"
        return f"{self.at(moment.at)} UTC"


def day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def long(seconds: float) -> str:
    """Returns a duration such as `0.4 s`, `47 s`, `12 min 30 s`, `3 h 5 min` or `2 d 4 h`."""
    if seconds < 0.05:
        return "0 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    recovered = round(seconds)
    if recovered < 60:
        return f"{recovered} s"
    for size, name, part, small in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if recovered >= size:
            rest = recovered % size // part
            return f"{recovered // size} {name}" + (f" {rest} {small}" if rest else "")
    return f"{recovered} s"


def apart(first: Moment | None, second: Moment | None) -> str:
    """Returns the duration from `first` to `second`, as a range if either is not exact."""
    if first is None or second is None:
        return UNKNOWN
    least = (second.at if second.not_before is None else second.not_before) - first.at
    most = second.at - (first.at if first.not_before is None else first.not_before)
    shortest, longest = long(max(least, 0.0)), long(most)
    if most >= 0.05 and least < 0.05:
        return f"up to {longest}" if second.not_before is not None or first.not_before is not None else longest
    return longest if shortest == longest else f"{shortest} to {longest}"


def named(partitions: Sequence[TopicPartition], most: int = 12) -> str:
    """Returns text such as `orders-[0\N{EN DASH}2,7]`; topics beyond `most` are counted."""
    topics = [
        (topic, sorted(tp.partition for tp in group))
        for topic, group in groupby(sorted(partitions), lambda tp: tp.topic)
    ]
    shown = [f"{topic}-{_numbers(numbers)}" for topic, numbers in topics[:most]]
    rest = topics[most:]
    if rest:
        shown.append(f"and {several(sum(len(n) for _, n in rest), 'more partition')} of {several(len(rest), 'topic')}")
    return ", ".join(shown)


def _numbers(numbers: Sequence[int]) -> str:
    runs: list[str] = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        them = [n for _, n in run]
        runs.append(str(them[0]) if len(them) == 1 else f"{them[0]}\N{EN DASH}{them[-1]}")
    if len(runs) > _RUNS:
        left = len(numbers) - sum(_size(run) for run in runs[:_RUNS])
        return f"[{','.join(runs[:_RUNS])} and {left} more]"
    text = ",".join(runs)
    return text if len(runs) == 1 and "\N{EN DASH}" not in text else f"[{text}]"


def _size(run: str) -> int:
    first, _, last = run.partition("\N{EN DASH}")
    return int(last or first) - int(first) + 1


def lane_name(partitions: Sequence[TopicPartition]) -> str:
    """Returns one name for partitions that share a history."""
    first = str(partitions[0])
    return first if len(partitions) == 1 else f"{first} and {len(partitions) - 1} more"


def held(span: Span) -> str:
    """Returns a span of a partition in words."""
    if span.proof is SpanCertainty.UNKNOWN:
        return UNKNOWN
    who = "no leader" if span.value == -1 else f"leader {span.value}"
    isr = "" if span.isr is None else f", ISR [{','.join(map(str, span.isr))}]"
    same = " at both ends, not proved in between" if span.proof is SpanCertainty.SAME else ""
    return f"{who}{isr}{same}"


def story_spans(spans: Sequence[Span]) -> list[Span]:
    """Returns the spans for a text, without single observations inside an unproved span and without very short gaps."""
    found: list[Span] = []
    for n, span in enumerate(spans):
        around = [s for s in (*spans[max(n - 1, 0) : n], *spans[n + 1 : n + 2]) if s.proof is SpanCertainty.SAME]
        point = span.proof is SpanCertainty.KNOWN and span.end - span.begin < 0.001
        if point and any(s.value == span.value for s in around):
            continue
        if span.proof is SpanCertainty.UNKNOWN and span.end - span.begin < 1:
            continue
        if found and (found[-1].value, found[-1].proof, found[-1].isr) == (span.value, span.proof, span.isr):
            continue
        found.append(span)
    return found


def up(span: Span) -> str:
    if span.proof is SpanCertainty.UNKNOWN:
        return UNKNOWN
    state = "not registered" if span.value == -1 else "registered"
    return state + (" at both ends, not proved in between" if span.proof is SpanCertainty.SAME else "")


def ruling(span: Span) -> str:
    if span.proof is SpanCertainty.UNKNOWN:
        return UNKNOWN
    return "none" if span.value == -1 else f"broker {span.value}, epoch {span.epoch}"


def seen(row: CauseRow, clock: TimeFormat) -> str:
    gone = f"resolved by {clock.at(row.gone)}" if row.gone is not None else "still present in the last snapshot"
    when = f"at {clock.at(row.first)}" if row.snapshots == 1 else f"{clock.at(row.first)} to {clock.at(row.last)}"
    return f"seen {when}, in {several(row.snapshots, 'snapshot')}; {gone}"


def headline(report: IncidentReport) -> str:
    """Returns the headline: what was unavailable and for how long, who was affected, whether it is resolved."""
    summary, parts = report.summary, []
    stood = _leaderless(report)
    if stood:
        parts.append(stood)
    elif report.causes:
        parts.append(f"Diagnosed: {report.causes[0].code} {report.causes[0].obj}: {report.causes[0].summary}")
    else:
        parts.append(f"{summary.verdict[:1].upper()}{summary.verdict[1:]}")
    if summary.groups:
        parts.append(_blocked(summary))
    if report.causes:
        lasted = apart(summary.began, summary.recovered)
        parts.append(f"Full recovery after {lasted}" if summary.recovered else "Not resolved at the last snapshot")
    return ". ".join(parts) + "."


def _blocked(summary: Summary) -> str:
    count, shown = len(summary.groups), some(summary.groups, 3)
    others = " (possibly others)" if summary.others_unknown else ""
    return f"Consumer group{'' if count == 1 else 's'} {shown}{others} {were(count)} blocked"


def _leaderless(report: IncidentReport) -> str:
    """Returns text such as `orders-3 had no leader for 41 s`, with "about" if part of the time is not proved."""
    none = report.picture.leaderless
    if not none.partitions:
        return ""
    time = f"{'' if none.proved else 'about '}{long(none.longest)}"
    if len(none.partitions) == 1:
        return f"{none.partitions[0]} had no leader for {time}"
    topics = sorted({tp.topic for tp in none.partitions})
    of = f"of {', '.join(topics[:3])}" if len(topics) <= 3 else f"of {len(topics)} topics"
    return f"{len(none.partitions)} partitions {of} had no leader, for up to {time}"


def brokers(ids: Sequence[int]) -> str:
    return "none" if not ids else brokers_named(ids)
