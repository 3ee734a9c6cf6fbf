"""The picture as numbers: every lane as bars in percent of the period, so that the page scales without a script."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kfix.core.events import Lane, SnapshotRow, Span, SpanCertainty
from kfix.core.harmless import shortened
from kfix.core.wording import several
from kfix.front.html.palette import css as shared
from kfix.incident.model import IncidentReport
from kfix.incident.report.words import TimeFormat, held, lane_name, named, ruling, story_spans, up

# Colours of brokers, in addition to the colours of all pages. A bar also shows the broker id, so hue is not needed.
# Text of colour `on` has a contrast of at least 4.5 on the bars in both schemes.

#: In the order of broker ids, repeated after the last. No red: that means a partition without a leader.
LIGHT: Final = ("#2a5fa5", "#0f766e", "#8a5a00", "#6b4aa3", "#4d6b1f", "#9a3f77", "#4a5560", "#1f6f8b")
DARK: Final = ("#86b0ee", "#5cc9bd", "#e0b050", "#bda2ec", "#a9cc70", "#e69ac6", "#b4bdc8", "#7cc8e4")


def css() -> str:
    light, dark = ("".join(f"--b{n}:{colour};" for n, colour in enumerate(colours)) for colours in (LIGHT, DARK))
    brokers = f":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"
    fills = "".join(f".b{n}{{fill:var(--b{n})}}.dot.b{n}{{background:var(--b{n})}}" for n in range(len(LIGHT)))
    return shared() + brokers + fills + "\n"


#: Most bars of one lane; a partition that changed more often is drawn in part, and its lane says so.
MOST: Final = 400
_WIDE_ENOUGH: Final = 1.8  # Percent; narrower bars have no broker id.
_STRIP: Final = 6  # Pixels: the line of one replica with its gap.


class Bar(NamedTuple):
    """`x` and `width` are in percent; `kind` is a CSS class; `hatch` is "" or the name of a pattern."""

    x: float
    width: float
    kind: str
    label: str
    title: str
    hatch: str = ""


class Strip(NamedTuple):
    """When one replica was in the ISR."""

    y: int
    broker: int
    bars: tuple[Bar, ...]


class Row(NamedTuple):
    name: str
    note: str
    title: str
    bars: tuple[Bar, ...]
    strips: tuple[Strip, ...]
    height: int
    story: tuple[tuple[str, str], ...]
    brokers: tuple[int, ...] = ()


class Mark(NamedTuple):
    """A vertical line through all lanes. `row` keeps labels from overlapping; with `end` the label is on the left."""

    x: float
    name: str
    row: int
    end: bool
    kind: str


class Tick(NamedTuple):
    """A label of the time axis; `anchor` keeps the first and the last one inside the picture."""

    x: float
    text: str
    minor: bool
    anchor: str


class Drawing:
    """Everything that the template needs. `colours` maps a broker id to the number of its colour."""

    def __init__(self, report: IncidentReport) -> None:
        self._report = report
        self._clock = TimeFormat(report)
        self._begin = report.picture.begin
        self._length = max(report.picture.end - report.picture.begin, 0.001)
        ids = {b for lane in report.picture.partitions for b in lane.replicas}
        ids |= {int(lane.name.split()[-1]) for lane in report.picture.brokers}
        self.colours = {broker: n % len(LIGHT) for n, broker in enumerate(sorted(ids))}

    def partitions(self) -> list[Row]:
        return [self._partition(lane) for lane in self._report.picture.partitions]

    def brokers(self) -> list[Row]:
        return [self._row(lane, lane.name, up, self._up) for lane in self._report.picture.brokers]

    def controller(self) -> list[Row]:
        lane = self._report.picture.controller
        return [] if lane is None else [self._row(lane, "controller", ruling, self._leader)]

    def runs(self) -> list[Bar]:
        return [
            self._bar(r.began, r.ended or self._begin + self._length, "run", r.runbook, f"{r.runbook}: {r.outcome}")
            for r in self._report.runs
        ]

    def snapshots(self) -> list[Bar]:
        kinds = {"critical": "critical", "warning": "warning"}
        return [
            self._bar(snapshot.at, snapshot.at, kinds.get(snapshot.worst, "good"), "", self._snapshot(snapshot))
            for snapshot in self._report.snapshots
        ]

    def _snapshot(self, snapshot: SnapshotRow) -> str:
        found = several(snapshot.findings, "finding") if snapshot.findings else "no findings"
        return f"{self._clock.at(snapshot.at)} {snapshot.name}: {found}"

    def _partition(self, lane: Lane) -> Row:
        row = self._row(lane, lane_name(lane.partitions), held, self._leader)
        strips = tuple(self._strip(n, broker, lane.spans) for n, broker in enumerate(lane.replicas))
        note = "" if len(lane.partitions) == 1 else "with the same history"
        title = named(lane.partitions)
        return row._replace(
            note=note, title=title, strips=strips, height=row.height + 3 + _STRIP * len(strips), brokers=lane.replicas
        )

    def _row(
        self, lane: Lane, name: str, describe: Callable[[Span], str], kind: Callable[[Span], tuple[str, str, str]]
    ) -> Row:
        bars = []
        for span in lane.spans[:MOST]:
            colour, label, hatch = kind(span)
            words = f"{self._clock.at(span.begin)} \N{EN DASH} {self._clock.at(span.end)}: {describe(span)}"
            bars.append(self._bar(span.begin, span.end, colour, label, words, hatch))
        story = tuple((self._clock.at(s.begin), describe(s)) for s in story_spans(lane.spans[:MOST]))
        note = f"drawn in part: {len(lane.spans)} changes" if len(lane.spans) > MOST else ""
        return Row(shortened(name, 60), note, name, tuple(bars), (), 20, story)

    def _strip(self, n: int, broker: int, spans: Sequence[Span]) -> Strip:
        bars = [
            self._bar(s.begin, s.end, self._colour(broker), "", f"broker {broker} in the ISR", _hatched(s))
            for s in spans[:MOST]
            if s.isr is not None and broker in s.isr and s.proof is not SpanCertainty.UNKNOWN
        ]
        return Strip(23 + n * _STRIP, broker, tuple(bars))

    def _leader(self, span: Span) -> tuple[str, str, str]:
        if span.proof is SpanCertainty.UNKNOWN or span.value is None:
            return "unknown", "", "unknown"
        if span.value < 0:
            return "none", "no leader" if self._percent(span) > 7 else "", _hatched(span)
        wide = self._percent(span) > _WIDE_ENOUGH
        return self._colour(span.value), str(span.value) if wide else "", _hatched(span)

    def _up(self, span: Span) -> tuple[str, str, str]:
        if span.proof is SpanCertainty.UNKNOWN or span.value is None:
            return "unknown", "", "unknown"
        if span.value < 0:
            return "down", "not registered" if self._percent(span) > 10 else "", _hatched(span)
        return self._colour(span.value), "", _hatched(span)

    def _colour(self, broker: int) -> str:
        return f"b{self.colours.get(broker, broker % len(LIGHT))}"

    def _percent(self, span: Span) -> float:
        return (span.end - span.begin) / self._length * 100

    def _x(self, at: float) -> float:
        return round(min(max((at - self._begin) / self._length * 100, 0.0), 100.0), 4)

    def _bar(self, begin: float, end: float, kind: str, label: str, title: str, hatch: str = "") -> Bar:
        x = self._x(begin)
        return Bar(x, round(max(self._x(end) - x, 0.0), 4), kind, label, title, hatch)

    def ticks(self) -> list[Tick]:
        """Returns about eight round times; a narrow screen shows every second one."""
        step = next((s for s in _STEPS if self._length / s <= 8), _STEPS[-1])
        first = int(self._begin // step + 1)
        times = [n * step for n in range(first, int((self._begin + self._length) // step) + 1)][:9]
        texts = [self._clock.at(at).removesuffix(".0") for at in times]
        places = ((self._x(at), text) for at, text in zip(times, texts, strict=True))
        return [
            Tick(x, text, n % 2 == 1, "start" if x < 5 else "end" if x > 95 else "middle")
            for n, (x, text) in enumerate(places)
        ]

    def marks(self) -> list[Mark]:
        """Returns the key moments; labels that would overlap go to different rows."""
        ends: list[float] = []
        made = []
        for name, moment in self._report.summary.moments:
            if moment is None:
                continue
            x = self._x(moment.at)
            left, right = (x - 26, x + 2) if x > 70 else (x - 2, x + 26)
            row = next((n for n, end in enumerate(ends) if left > end), len(ends))
            ends[row : row + 1] = [right]
            made.append(Mark(x, name.lower(), row, x > 70, _MARKS.get(name, "good")))
        return made

    def legend(self) -> list[tuple[int, int]]:
        return sorted(self.colours.items())


#: The CSS class of a key moment; the others are good.
_MARKS: Final = {"Began": "bad", "Detected": "warn"}
_STEPS: Final = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
                 172_800, 604_800, 2_592_000)  # fmt: skip


def _hatched(span: Span) -> str:
    return "same" if span.proof is SpanCertainty.SAME else ""
