"""The numbers of the charts, as JSON types; the page's script draws them as SVG, in the colours of the page.

The chart `heat` has a row per cluster; the script shows a window of the rows.
"""

from collections import defaultdict
from collections.abc import Mapping
from math import ceil, floor
from typing import Any, Final

from kfix.core.harmless import shortened
from kfix.core.wording import several
from kfix.fleet.model.audit import OPEN, AuditReport, FindingRow
from kfix.fleet.report.words import titles

_NAME: Final = 34
#: Cells of the heat map: meaning, letter and the name of its colour; a cell's value is the index in this tuple.
CELLS: Final = (
    ("unknown", "?", "unknown"),
    ("nothing", "", "none"),
    ("muted", "m", "muted"),
    ("info", "i", "info"),
    ("warning", "W", "warning"),
    ("critical", "C", "critical"),
)
_PLACE: Final = {meaning: n for n, (meaning, _, _) in enumerate(CELLS)}
_STEPS: Final = (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)


def figures(report: AuditReport) -> Mapping[str, Any]:
    """Returns the charts by name; a chart without data is left out."""
    made = {}
    if len(report.trend) > 1:
        made["trend"] = _trend(report)
    if any(f.status in OPEN for f in report.findings):
        made["heat"] = _heat(report)
    return made


def _trend(report: AuditReport) -> Mapping[str, Any]:
    """Returns the days, and two panels of lines; a value that is unknown is None."""
    scores = [t.score if t.score >= 0 else None for t in report.trend]
    critical = [t.critical if t.collected else None for t in report.trend]
    warning = [t.warning if t.collected else None for t in report.trend]
    score = _line("fleet score", scores, "good", "circle")
    known = [each for each in scores if each is not None] or [0, 100]
    most = max((each for each in (*critical, *warning) if each is not None), default=0)
    return {
        "days": [t.day.isoformat() for t in report.trend],
        "panels": [
            {"title": "score", **_axis(min(known), max(known)), "lines": [score]},
            {
                "title": "findings",
                **_axis(0, most),
                "lines": [
                    _line("open critical", critical, "critical", "diamond"),
                    _line("open warning", warning, "warning", "square"),
                ],
            },
        ],
    }


def _line(name: str, values: list[Any], colour: str, mark: str) -> Mapping[str, Any]:
    return {"name": name, "values": values, "colour": colour, "mark": mark}


def _axis(least: float, most: float) -> Mapping[str, Any]:
    """Returns an axis with at most five marks at round numbers, and room for the values."""
    step = next((each for each in _STEPS if (most - least) / each <= 3), _STEPS[-1])
    low, high = floor(least / step) * step, max(ceil(most / step) * step, floor(least / step) * step + step)
    return {"low": low, "high": high, "ticks": list(range(low, high + 1, step))}


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


def _heat(report: AuditReport) -> Mapping[str, Any]:
    codes, rows, known = heat_codes(report), heat_rows(report), titles(report)
    slugs = [known[code].slug if code in known else "" for code in codes]
    return {
        "codes": codes,
        "names": [shortened(each.cluster, _NAME) for each in report.clusters],
        "places": [[place for place, _ in row] for row in rows],
        "texts": [[f"{CELLS[place][1]}{n if n > 1 else ''}" for place, n in row] for row in rows],
        "words": [
            [
                f"{shortened(cluster.cluster, 80)}: {code} {slug}: {CELLS[place][0]}, {several(n, 'finding')}"
                for code, slug, (place, n) in zip(codes, slugs, row, strict=True)
            ]
            for cluster, row in zip(report.clusters, rows, strict=True)
        ],
    }
