"""The charts as plotly figures, in the colours of the light scheme; the page's script replaces them for the dark one.

The figures `score` and `heat` have a row per cluster; the script shows a window of the rows.
"""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from kfix.core.harmless import shortened
from kfix.core.wording import several
from kfix.fleet.model.audit import OPEN, AuditReport, FindingRow
from kfix.fleet.report.words import titles
from kfix.front.html.palette import LIGHT

#: The number of clusters in a window of the charts; above it a chart of the distribution of scores is drawn as well.
MANY: Final = 30
_NAME: Final = 34
_OFFENDERS: Final = 15
_DAY: Final = 86_400_000
#: Cells of the heat map: meaning, letter and colour; a cell's value is the index in this tuple.
CELLS: Final = (
    ("unknown", "?", LIGHT["unknown"]),
    ("nothing", "", LIGHT["none"]),
    ("muted", "m", LIGHT["muted"]),
    ("info", "i", LIGHT["info"]),
    ("warning", "W", LIGHT["warning"]),
    ("critical", "C", LIGHT["critical"]),
)
_PLACE: Final = {meaning: n for n, (meaning, _, _) in enumerate(CELLS)}


def figures(report: AuditReport) -> Mapping[str, Any]:
    """Returns the figures by name as JSON types; a chart without data is left out."""
    made = {}
    if len(report.trend) > 1:
        made["trend"] = _trend(report)
    if any(f.status in OPEN for f in report.findings):
        made["heat"] = _heat(report)
    return {name: figure.to_plotly_json() for name, figure in made.items()}


def label(text: str, most: int = _NAME) -> str:
    """Returns a name with HTML escaped, since plotly.js interprets some HTML in texts."""
    return html.escape(shortened(text, most), quote=False)


def _figure(*traces: Any, **layout: Any) -> go.Figure:
    figure = go.Figure(data=traces)
    _dressed(figure, **layout)
    return figure


def _dressed(figure: go.Figure, **layout: Any) -> None:
    figure.update_layout(
        template=None,
        font={"color": LIGHT["text"], "size": 12},
        paper_bgcolor=LIGHT["bg"],
        plot_bgcolor=LIGHT["bg"],
        margin={"l": 8, "r": 16, "t": 8, "b": 32},
        hoverlabel={"bgcolor": LIGHT["panel"], "font": {"color": LIGHT["text"]}, "align": "left", "namelength": -1},
        dragmode=False,
        **layout,
    )
    grid = {"gridcolor": LIGHT["line"], "zeroline": False, "fixedrange": True}
    figure.update_xaxes(**grid)
    figure.update_yaxes(**grid, automargin=True)


def _rows_axis(names: Sequence[str]) -> dict[str, Any]:
    return {
        "tickvals": list(range(len(names))),
        "ticktext": [label(name) for name in names],
        "autorange": "reversed",
        "showgrid": False,
        "ticks": "outside",
        "ticklen": 5,
        "tickcolor": LIGHT["bg"],
    }


def _trend(report: AuditReport) -> go.Figure:
    days = [t.day.isoformat() for t in report.trend]
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08, row_heights=[0.45, 0.55])
    lines = (
        (1, "fleet score", [t.score if t.score >= 0 else None for t in report.trend], "good", "solid", "circle"),
        (
            2,
            "open critical",
            [t.critical if t.collected else None for t in report.trend],
            "critical",
            "solid",
            "diamond",
        ),
        (2, "open warning", [t.warning if t.collected else None for t in report.trend], "warning", "dash", "square"),
    )
    for row, name, values, colour, dash, symbol in lines:
        marks = {"color": LIGHT[colour], "symbol": symbol, "size": 7}
        line = {"color": LIGHT[colour], "dash": dash, "width": 2}
        trace = go.Scatter(
            x=days, y=values, name=name, mode="lines+markers", line=line, marker=marks, connectgaps=False
        )
        figure.add_trace(trace, row=row, col=1)
    _dressed(figure, hovermode="x unified", legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    figure.update_layout(margin={"t": 36})
    figure.update_xaxes(type="date", tickformat="%Y-%m-%d", hoverformat="%Y-%m-%d", nticks=6)
    if len(days) <= 5:
        figure.update_xaxes(dtick=_DAY)
    most = max((max(t.critical, t.warning) for t in report.trend if t.collected), default=0)
    step = {"dtick": 1} if most <= 4 else {"nticks": 5}
    figure.update_yaxes(
        range=[-0.06 * most - 0.1, 1.1 * most + 0.4], row=2, col=1, title={"text": "findings", "standoff": 12}, **step
    )
    scores = [t.score for t in report.trend if t.score >= 0] or [0, 100]
    figure.update_yaxes(
        range=[min(scores) - 3, max(scores) + 3], nticks=4, row=1, col=1, title={"text": "score", "standoff": 12}
    )
    return figure


def heat_codes(report: AuditReport) -> list[str]:
    """Returns the checks with open findings, muted ones included."""
    return sorted({f.code for f in report.findings if f.status in OPEN})


def heat_rows(report: AuditReport) -> list[list[tuple[int, int]]]:
    """Returns, by cluster and check, the index in CELLS and the number of findings."""
    codes = {code: n for n, code in enumerate(heat_codes(report))}
    found: dict[str, list[FindingRow]] = defaultdict(list)
    for row in report.findings:
        if row.status in OPEN:
            found[row.cluster].append(row)
    rows = []
    for cluster in report.clusters:
        empty = _PLACE["nothing" if cluster.collected else "unknown"]
        cells = [(empty, 0)] * len(codes)
        for finding in found[cluster.cluster]:
            at = codes[finding.code]
            place = _PLACE["muted"] if finding.muted else _PLACE.get(finding.severity, _PLACE["info"])
            cells[at] = (max(cells[at][0], place), cells[at][1] + 1)
        rows.append(cells)
    return rows


def _heat(report: AuditReport) -> go.Figure:
    codes, rows, known = heat_codes(report), heat_rows(report), titles(report)
    slugs = [known[code].slug if code in known else "" for code in codes]
    steps = len(CELLS)
    scale = [[(n + end) / steps, colour] for n, (_, _, colour) in enumerate(CELLS) for end in (0, 1)]
    trace = go.Heatmap(
        x=list(range(len(codes))),
        y=list(range(len(rows))),
        z=[[place for place, _ in row] for row in rows],
        text=[[f"{CELLS[place][1]}{n if n > 1 else ''}" for place, n in row] for row in rows],
        texttemplate="%{text}",
        textfont={"size": 11},
        customdata=[
            [f"{label(c.cluster, 80)}<br>{code} {slug}: {CELLS[place][0]}, {several(n, 'finding')}"
             for code, slug, (place, n) in zip(codes, slugs, row, strict=True)]
            for c, row in zip(report.clusters, rows, strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
        zmin=-0.5, zmax=steps - 0.5, colorscale=scale, showscale=False, xgap=2, ygap=2,
    )  # fmt: skip
    figure = _figure(trace)
    figure.update_xaxes(side="top", tickvals=list(range(len(codes))), ticktext=codes, tickangle=-60, showgrid=False)
    figure.update_yaxes(**_rows_axis([c.cluster for c in report.clusters]))
    figure.update_layout(margin={"t": 64, "b": 8})
    return figure
