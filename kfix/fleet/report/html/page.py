"""Renders the page: the HTML that works without scripts, and the three packed parts that the script reads.

Headline, unknown clusters, new findings and the tables of clusters, checks and mutes are plain HTML. The script unpacks
the charts after the first paint, and the findings of a cluster with their evidence when it is opened.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined

from kfix.core.harmless import for_html, for_json, squeezed
from kfix.core.wording import several
from kfix.fleet.model.audit import OPEN, POINTS_IN_WORDS, AuditReport, Status
from kfix.fleet.report.groups import by_owner, by_tag
from kfix.fleet.report.html.figures import CELLS, figures
from kfix.fleet.report.html.island import details, index
from kfix.fleet.report.html.sections import ranking, scenario_rows, spans, tiles
from kfix.fleet.report.order import first_things
from kfix.fleet.report.totals import Totals, in_maintenance, passed, totals, unknown_clusters
from kfix.fleet.report.verdict import unread
from kfix.fleet.report.words import headline, next_step, since_words, titles
from kfix.front.html import palette
from kfix.front.html.packing import app_script, asset, in_script, packed_json, sha256

#: The number of causes in the page before its script runs; all findings are listed under their clusters.
FIRST: Final = 20
#: What is shown at once; the rest of a list opens with a click, so that the page stays short on a phone.
TOP_FIRST: Final = 5
TOP_BARS: Final = 12
TOP_ROWS: Final = 6


def render_html(report: AuditReport) -> str:
    """Returns the page as text, some 50 kB plus the audit's data. The same report gives the same page."""
    script = app_script()
    policy = (
        f"default-src 'none'; script-src {sha256(script)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    text = _environment().get_template("page.html.j2").render(
        **_context(report),
        policy=policy,
        style=palette.css() + asset("style.css"),
        script=script,
        index=packed_json(index(report)),
        figures=packed_json(figures(report)),
        details=in_script(details(report)),
        cells=in_script(CELLS),
    )  # fmt: skip
    # A lone surrogate, as in a name that is not valid text, cannot be encoded in UTF-8.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=for_html,
    )  # fmt: skip
    made.filters |= {"several": several, "since": since_words, "clock": _clock, "next_step": next_step}
    return made


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M") if seconds >= 0 else "never"


def _context(report: AuditReport) -> Mapping[str, Any]:
    sums, first, at_work = totals(report), first_things(report), in_maintenance(report)
    lost = unknown_clusters(report)
    whole = {f"{c.cluster}: {c.why}" for c in lost}
    return {
        "report": report,
        "sums": sums,
        "verdict": _verdict(report, sums),
        "unknown": lost,
        "tiles": tiles(report, sums),
        "ranking": ranking(report),
        "owners": by_owner(report),
        "tags": by_tag(report),
        "scenarios": scenario_rows(report),
        "spans": spans(report),
        "fixed": [f for f in report.findings if f.status == Status.FIXED and not f.head and not f.muted],
        "passed": passed(report),
        "heat": any(f.status in OPEN for f in report.findings),
        "most_clusters": max((o.clusters for o in report.offenders), default=1) or 1,
        "top": TOP_FIRST,
        "top_bars": TOP_BARS,
        "top_rows": TOP_ROWS,
        "most_rows": FIRST,
        "unread": [line for line in unread(report) if line not in whole],
        "points": POINTS_IN_WORDS,
        "first": first[:FIRST],
        "first_total": len(first),
        "at_work": at_work,
        "checks": titles(report),
        "mutes": sorted(report.mutes, key=lambda m: (not m.expired, m.until)),
        "muted": [f for f in report.findings if f.muted and f.status != "fixed"],
        "places": {c.cluster: n for n, c in enumerate(report.clusters)},
        "manifest": for_json(dict(report.manifest), indent=1, default=str),
    }


def _verdict(report: AuditReport, sums: Totals) -> tuple[str, str]:
    """Returns the colour and the headline. The colour is never "good" if the state of a cluster is unknown."""
    sentence = headline(report, sums, squeezed)
    sentence = sentence[:1].upper() + sentence[1:]
    if sums.critical:
        return "critical", sentence
    if not sums.collected:
        return "unknown", sentence
    if sums.warning:
        return "warning", sentence
    return ("unknown" if sums.unknown else "good"), sentence
