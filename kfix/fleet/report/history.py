"""The history of many audits for a terminal: what is open and for how long, time to repair, what flaps, what grows."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any, Final

from rich.console import Console

from kfix.core.harmless import squeezed
from kfix.core.wording import ago, several, some
from kfix.fleet.model.history import (
    AuditHistory,
    ChurnRate,
    Episode,
    Flapping,
    GrowthForecast,
    RepairTime,
    RepeatOffender,
    of_state,
)
from kfix.front.lines import Line, print_lines

_STEP: Final = 2
LIMIT: Final = 10
_STYLES: Final = {"critical": "bold red", "warning": "bold yellow", "info": "bold cyan"}
_OFFENDERS: Final = {
    "topic": ("topics", "partitions without leader or full ISR, added up"),
    "broker": ("brokers", "restarts and departures"),
    "rack": ("racks", "restarts and departures of their brokers"),
    "owner": ("owners", "findings that began, without latent risks"),
    "version": ("versions of the broker protocol", "findings that began, without latent risks"),
}


def print_history(history: AuditHistory, console: Console, *, limit: int = LIMIT) -> None:
    """Prints the history; `limit` is the maximum length of each list, the rest is counted."""
    print_lines(history_lines(history, limit=limit), console)


def history_lines(history: AuditHistory, *, limit: int = LIMIT) -> Iterator[Line]:
    yield from _headline(history)
    still, unknown, ended = (of_state(history.episodes, state) for state in ("open", "unknown", "ended"))
    yield from _section("open:", [_open(e, history.now) for e in still], limit, "finding")
    yield from _section(
        "state unknown, since the cluster or a source of it was not read:",
        [_open(e, history.now) for e in unknown],
        limit,
        "finding",
    )
    yield from _section("ended, the latest first:", [_ended(e) for e in ended], limit, "episode")
    yield from _repair_times(history.repair_times, limit)
    for kind in ("broker", "group", "partition"):
        title = f"flapping {kind}s (changed on at least three days, and every third day or more often):"
        yield from _section(title, [_flapping(f) for f in history.flapping if f.kind == kind], limit, kind)
    yield from _offenders(history.offenders, limit)
    yield from _churn(history.churn, limit)
    yield from _growth(history.growth, limit)
    yield from _section("not read, so not part of this history:", map(_line, history.incomplete), limit, "part")


def _headline(history: AuditHistory) -> Iterator[Line]:
    if history.first is None or history.last is None:
        yield Line("no audits", hang=_STEP)
        return
    span = f"{history.first}" if history.first == history.last else f"{history.first} to {history.last}"
    still = len(of_state(history.episodes, "open"))
    ended, unknown = len(of_state(history.episodes, "ended")), len(of_state(history.episodes, "unknown"))
    critical = sum(e.state == "open" and e.rank > 1 for e in history.episodes)
    numbers = f"{several(still, 'finding')} open, {critical} of them critical; {ended} ended; {unknown} unknown"
    style = _STYLES["critical"] if critical else _STYLES["warning"] if still or unknown else "bold green"
    if history.unread_last is not None:
        lost = f"not known what is open now: the last audit ({history.unread_last}) could not be read"
        yield Line(lost, style=_STYLES["warning"], hang=_STEP)
        numbers, style = f"{numbers}, on {history.last}", ""
    if "episodes" in history.unknown:
        numbers, style = "not known which findings are open: their episodes could not be read", _STYLES["warning"]
    yield Line(f"history of {several(history.clusters, 'cluster')}: {numbers}", style=style, hang=_STEP)
    one = "; one audit shows no change: the next one is compared with it" if history.audits == 1 else ""
    yield Line(f"{several(history.audits, 'audit')}, {span}{one}", hang=_STEP)
    if all_ := [r for r in history.repair_times if r.by == "all" and r.ended]:
        yield Line(f"time to repair: {_repair_words(all_[0])}", hang=_STEP)
    if score := history.score:
        both = f"the {score.clusters} clusters that both audits read" if score.clusters > 1 else "the one cluster"
        change = f"{score.change:+g}" if score.change else "unchanged"
        yield Line(f"score {score.now:g} of 100 ({change} since {score.day}), over {both}", hang=_STEP)
    for names, what in (
        (history.unread, "not read by the last audit"),
        (history.left, "not part of the last audit: renamed, removed, or not chosen"),
    ):
        if names:
            listed = some([squeezed(n) for n in names])
            yield Line(f"{several(len(names), 'cluster')} {what}: {listed}", style="yellow", hang=_STEP)


def _repair_words(found: RepairTime) -> str:
    bounds = f"at least {ago(found.low)}" + (f", at most {ago(found.high)}" if found.high is not None else "")
    over = f"median {ago(found.median)}, mean {ago(found.mean)} over {several(found.ended, 'episode')}"
    return f"{over}; median {bounds}, since audits are apart"


def _section(title: str, lines: Sequence[Line] | Iterator[Line], limit: int, noun: str) -> Iterator[Line]:
    rows = list(lines)
    if not rows:
        return
    yield Line("")
    yield Line(title, style="bold", hang=_STEP)
    yield from rows[:limit]
    if len(rows) > limit:
        yield Line(f"and {several(len(rows) - limit, f'more {noun}')} (--limit, --json)", _STEP, "dim", hang=_STEP)


def _line(text: str) -> Line:
    return Line(squeezed(text), _STEP, hang=_STEP)


def _named(episode: Episode) -> str:
    latent = " (latent risk)" if episode.prevention else ""
    owner = f" ({squeezed(episode.owner)})" if episode.owner else ""
    return f"{episode.severity.upper()} {squeezed(episode.key)}{latent} on {squeezed(episode.cluster)}{owner}"


def _notes(episode: Episode) -> str:
    notes = [
        *([f"{several(episode.peak_partitions, 'partition')} at most"] if episode.peak_partitions else []),
        *([f"{several(episode.unread, 'audit')} could not tell"] if episode.unread else []),
        *([f"reopened, {several(episode.reopened, 'earlier episode')}"] if episode.reopened else []),
        *(["muted"] if episode.muted else []),
    ]
    return "".join(f"; {note}" for note in notes)


def _open(episode: Episode, now: datetime | None) -> Line:
    age = "" if now is None or now == episode.began else f"for {ago(episode.age(now))}, "
    since = f"since {episode.began.date()}" if episode.not_before else f"since {episode.began.date()} or earlier"
    seen = "" if episode.state == "open" else f", last seen {episode.last_seen.date()}"
    text = f"{_named(episode)}: {age}{since}{seen}, in {several(episode.audits, 'audit')}{_notes(episode)}"
    return Line(text, _STEP, _STYLES.get(episode.severity, ""), hang=_STEP)


def _ended(episode: Episode) -> Line:
    ended = "" if episode.ended is None else f", {episode.began.date()} to {episode.ended.date()}"
    return Line(f"{_named(episode)}: lasted {ago(episode.seconds)}{ended}{_notes(episode)}", _STEP, hang=_STEP)


def _cells(cells: Sequence[object], widths: Sequence[int], name: str) -> Line:
    text = "".join(f"{cell!s:>{width}}" for cell, width in zip(cells, widths, strict=True))
    return Line(f"{text}  {name}", _STEP, hang=_STEP)


def _repair_times(found: Sequence[RepairTime], limit: int) -> Iterator[Line]:
    widths = (8, 9, 9, 7, 6)
    for by, title in (("code", "time to repair by check:"), ("owner", "time to repair by owner:")):
        rows = [r for r in found if r.by == by and (by != "owner" or r.name)]
        ended = [r for r in rows if r.ended]
        lines = [
            _cells(
                (ago(r.median), ago(r.low), "unknown" if r.high is None else ago(r.high), r.ended, r.open),
                widths,
                squeezed(r.name),
            )
            for r in ended
        ]
        header = Line(_cells(("median", "at least", "at most", "ended", "open"), widths, by).text, _STEP, "dim")
        yield from _section(title, [header, *lines] if lines else [], limit + 1, "row")


def _flapping(found: Flapping) -> Line:
    name = f"{found.kind} {squeezed(found.name)} of {squeezed(found.cluster)}"
    rate = f"{found.per_day:.1f} changes a day"
    return _line(f"{name}: {rate}, {found.changes} on {several(found.days, 'day')} ({found.what})")


def _offenders(found: Sequence[RepeatOffender], limit: int) -> Iterator[Line]:
    for by, (title, what) in _OFFENDERS.items():
        rows = [o for o in found if o.by == by]
        lines = [_cells((o.audits, o.times), (7, 7), _whose(o)) for o in rows]
        header = Line(_cells(("audits", "times"), (7, 7), by).text, _STEP, "dim")
        yield from _section(f"repeat offenders, {title} ({what}):", [header, *lines] if rows else [], limit + 1, "row")


def _whose(found: RepeatOffender) -> str:
    return squeezed(f"{found.name} of {found.cluster}" if found.cluster else found.name)


def _churn(found: Sequence[ChurnRate], limit: int) -> Iterator[Line]:
    rows = [c for c in found if c.leader or c.isr or c.restarts or c.controller]
    widths = (9, 9, 10, 12)
    lines = [
        _cells([_rate(v) for v in (c.leader, c.isr, c.restarts, c.controller)], widths, squeezed(c.cluster))
        for c in rows
    ]
    header = Line(_cells(("leaders", "ISRs", "restarts", "controllers"), widths, "cluster").text, _STEP, "dim")
    yield from _section("changes a day:", [header, *lines] if rows else [], limit + 1, "cluster")


def _rate(value: float) -> str:
    return "0" if not value else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _growth(found: Sequence[GrowthForecast], limit: int) -> Iterator[Line]:
    met = [g for g in found if g.reached or g.expected or g.earliest]
    yield from _section("limits of KFX611 that are reached, or will be:", [_limit(g) for g in met], limit, "forecast")
    grown = sorted(
        (g for g in found if g.measure in {"partitions", "skew"} and (g.low > 0 or g.high < 0)),
        key=lambda g: (-abs(g.per_day) / max(g.value, 1), g.cluster, g.measure),
    )
    yield from _section("growth, with its 90 % interval:", [_grown(g) for g in grown], limit, "row")


def _limit(found: GrowthForecast) -> Line:
    name = f"{squeezed(found.cluster)}: {found.value} {found.measure}, limit {found.limit}"
    if found.reached:
        return Line(f"{name}: reached", _STEP, "bold yellow", hang=_STEP)
    when = _day(found.expected)
    bounds = f"earliest {_day(found.earliest)}, latest {_day(found.latest)}"
    return _line(f"{name}: reached {when} at {found.per_day:+.1f} a day ({bounds})")


def _grown(found: GrowthForecast) -> Line:
    unit = " %" if found.measure == "skew" else ""
    rate = f"{found.per_day:+.2f}{unit} a day ({found.low:+.2f} to {found.high:+.2f})"
    what = "the fullest broker holds" if found.measure == "skew" else ""
    value = f"{what} {found.value} % of the mean" if what else several(found.value, "partition")
    return _line(f"{squeezed(found.cluster)}: {value}, {rate} over {several(round(found.days), 'day')}")


def _day(when: date | None) -> Any:
    return "not within two years" if when is None else when
