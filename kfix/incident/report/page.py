"""The post-mortem as one HTML page: offline, no library, complete without its script, light, dark and printable."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from kfix.core.events import Theme
from kfix.core.harmless import for_html, squeezed
from kfix.core.wording import several, utc_iso
from kfix.front.html.packing import sha256
from kfix.incident.model import IncidentReport
from kfix.incident.report import facts
from kfix.incident.report.drawing import Drawing, css
from kfix.incident.report.markdown import chosen, place, source
from kfix.incident.report.words import TimeFormat, day, headline, named, seen

if TYPE_CHECKING:
    from jinja2 import Environment

_ASSETS: Final = resources.files("kfix.incident.report") / "assets"


def render_incident(report: IncidentReport) -> str:
    """Returns the page as text. Equal reports give equal pages; a page has at most `markdown.EVENTS` events."""
    script = _asset("filter.js")
    policy = (
        f"default-src 'none'; script-src {sha256(script)}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    text = (
        _environment()
        .get_template("page.html.j2")
        .render(**_context(report), policy=policy, style=css() + _asset("style.css"), script=script)
    )
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _environment() -> Environment:
    # Only the page needs the template engine.
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415

    made = Environment(
        loader=FunctionLoader(_asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=for_html,
    )  # fmt: skip
    made.filters |= {"several": several, "line": squeezed, "iso": utc_iso, "named": named}
    return made


def _context(report: IncidentReport) -> Mapping[str, Any]:
    clock, drawing = TimeFormat(report), Drawing(report)
    shown, left = chosen(report.events)
    rows = [*drawing.partitions(), *drawing.controller(), *drawing.brokers()]
    return {
        "report": report,
        "clock": clock,
        "drawing": drawing,
        "rows": rows,
        "marks": drawing.marks(),
        "ticks": drawing.ticks(),
        "headline": headline(report),
        "tone": _tone(report),
        "day": day(report.since),
        "last_day": day(report.until),
        "times": facts.times(report, clock),
        "durations": facts.durations(report),
        "affected": facts.affected(report),
        "about": facts.about(report),
        "seen": seen,
        "events": [(row, clock.event(row), place(row), source(row)) for row in shown],
        "left": left,
        "quiet": sum(row.tone == "plain" for row in shown),
        "themes": [theme.value for theme in Theme if any(row.theme is theme for row in shown)],
    }


def _tone(report: IncidentReport) -> str:
    if report.summary.verdict == "resolved":
        return "good"
    if not report.causes:
        return "unknown"
    return "critical" if any(c.severity == "critical" and c.gone is None for c in report.causes) else "warning"
