"""The page before any script runs: well-formed, offline, the same for the same audit; its data comes back whole."""

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest

from kfix.core.harmless import for_script, is_dangerous
from kfix.fleet.model.history import AuditHistory, ScoreChange
from kfix.fleet.model.scenarios import matrix_of
from kfix.fleet.report.groups import by_owner, by_tag
from kfix.fleet.report.html.figures import figures, heat_codes, heat_rows
from kfix.fleet.report.html.island import details, index, ranges
from kfix.fleet.report.html.page import render_html
from kfix.fleet.report.html.sections import ranking, scenario_rows, spans, tiles
from kfix.fleet.report.totals import totals
from kfix.front.html import palette
from kfix.front.html.packing import SCRIPTS, app_script, in_script
from tests.each import for_each
from tests.unit.fleet.report.reports import HOSTILE, dark, empty, report, with_future

VOID = {"meta", "link", "input", "br"}


@cache
def cases():
    return [report(1), with_future(report(45)), with_future(report(28, hostile=True)), empty(), dark()]


PAGES: dict[int, str] = {}


class Reader(HTMLParser):
    """Elements must close in order; what is of interest is kept."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.attributes, self.texts, self.tags = [], [], [], {}, []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        given = dict(attrs)
        if "id" in given:
            self.ids.append(given["id"])
        if tag not in VOID:
            self.open.append((tag, given.get("id", "")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag, self.getpos()

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data


def page(given):
    """The page of one of the cases: several tests read it, and none changes it."""
    if id(given) not in PAGES:
        PAGES[id(given)] = render_html(given)
    return PAGES[id(given)]


def read(given):
    reader = Reader()
    reader.feed(page(given))
    reader.close()
    assert reader.open == []
    return reader


def unpacked(reader, name):
    return json.loads(gzip.decompress(base64.b64decode(reader.texts["script", name])))


@for_each("given", cases)
def test_the_page_is_well_formed_and_asks_for_nothing(given):
    reader = read(given)
    assert len(reader.ids) == len(set(reader.ids))
    asked = [(t, n, v) for t, n, v in reader.attributes if n in ("src", "href", "srcset", "action", "data", "poster")]
    assert all(v == "data:," or v[1:] in reader.ids for _, _, v in asked), asked
    assert not [n for _, n, _ in reader.attributes if n.startswith("on")]
    assert all(
        re.fullmatch(r"(margin-left:[0-9.]+%;)?width:[0-9.]+%", v) for _, n, v in reader.attributes if n == "style"
    )
    for _, name, value in reader.attributes:
        if name in ("aria-labelledby", "aria-describedby", "aria-controls", "for"):
            assert set(value.split()) <= set(reader.ids), value
    assert "{{" not in re.sub(r"\{\{ 7\*7 \}\}", "", "".join(v for k, v in reader.texts.items() if k[0] != "script"))


@for_each("given", cases)
def test_only_our_script_may_run(given):
    text = page(given)
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    hashes = re.findall(r"'sha256-([^']+)'", policy)
    [script] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert hashes == [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()]
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_the_same_audit_gives_the_same_page():
    assert render_html(report(9)) == render_html(report(9))


@for_each("given", cases)
def test_the_island_holds_every_finding_and_every_partition(given):
    reader = read(given)
    said = unpacked(reader, "index")
    rest = json.loads(reader.texts["script", "details"])
    assert [c["name"] for c in said["clusters"]] == [for_script(c.cluster) for c in given.clusters]
    for cluster, packed in zip(said["clusters"], rest, strict=True):
        mine = {for_script(f.key): f for f in given.findings if for_script(f.cluster) == cluster["name"]}
        more = json.loads(gzip.decompress(base64.b64decode(packed)))
        assert len(more) == len(cluster["findings"]) == len(mine)
        for head, tail in zip(cluster["findings"], more, strict=True):
            assert head["summary"] == for_script(mine[head["key"]].summary)
            assert tail["cause"] == for_script(mine[head["key"]].cause)
            names = {f"{t}-{n}" if r else t for t, r in head["parts"] for n in expanded(r)}
            assert names == set(for_script(mine[head["key"]].partitions))
    assert len(index(given)["clusters"]) == len(details(given)) == len(given.clusters)


def expanded(runs):
    for run in runs.split() or [""]:
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1) if run else [""]


def test_partitions_are_shown_as_ranges():
    assert ranges([f"a-b-{n}" for n in (0, 1, 2, 7, 9, 10)] + ["none", "x-"]) == [
        ("a-b", "0-2 7 9-10"),
        ("none", ""),
        ("x-", ""),
    ]


def test_the_bars_of_the_clusters_are_as_long_as_their_risk_and_the_worst_fills_its_row():
    given = with_future(report(45))
    rows = ranking(given)
    assert [b.row.risk for b in rows] == sorted(
        (c.risk for c in given.clusters if c.collected and c.risk), reverse=True
    )
    widths = [sum(width for _, width in b.parts) for b in rows]
    assert all(abs(w - 100 * b.row.risk / rows[0].row.risk) < 0.1 for w, b in zip(widths, rows, strict=True))
    assert all(b.parts for b in rows), "no empty bar"


def test_tiles_show_the_change_since_the_audit_before_and_whether_it_is_better():
    given = report(9)
    before = replace(given.trend[-2], collected=9, score=90, critical=7, warning=0)
    both = AuditHistory(score=ScoreChange(given.day, given.run, 8, 97.3, 95.2))
    changed = replace(given, trend=(*given.trend[:-2], before, replace(given.trend[-1], score=95.2)), history=both)
    sums = replace(totals(changed), critical=5, warning=3)
    found = {t.words: (t.value, t.change, t.trend) for t in tiles(changed, sums)}
    assert found["score of 100"] == ("95.2", -2.1, "sicker"), "over the clusters that both audits read"
    assert found["critical"] == ("5", -2, "better")
    assert found["warning"] == ("3", 3, "sicker")
    assert [t.value for t in tiles(dark(), totals(dark()))][:3] == ["?", "?", "?"]


def test_the_worst_failure_is_marked_once_and_what_is_unknown_is_never_called_safe():
    given = with_future(report(45))
    cells = [cell for _, row in scenario_rows(given) for cell in row]
    assert [c.kind for c in cells].count("critical worst") == 1
    shaky = replace(given.scenarios[0], stops=0, unclean=0, topics=0, unknown=1, under_min_isr=0, last_in_sync=0)
    for certain, kind, words in ((0, "unknown", "unknown"), (328, "warning", "328 partitions, or more")):
        [(_, row)] = scenario_rows(replace(given, scenarios=(replace(shaky, under_min_isr=certain),)))[:1]
        assert (kind, words) in {(c.kind, c.words) for c in row}
        assert "good" not in {c.kind for c in row}
    known = replace(shaky, unknown=0, under_min_isr=328)
    [found] = matrix_of([shaky.cluster], [shaky, known])
    assert found.worst[shaky.kind] == known, "what is certain is not hidden by what is unknown"
    assert scenario_rows(report(3)) == ()


def test_episodes_lie_within_the_time_line_and_fixed_ones_are_marked():
    found = spans(with_future(report(45)))
    assert found
    assert all(s.left >= 0 and s.left + s.width <= 100.01 and s.width > 0 for s in found)
    assert all((s.words == "fixed") == (s.episode.ended is not None) for s in found)
    assert spans(report(3)) == ()


def test_owners_add_up_to_the_fleet():
    given = report(45)
    sums = totals(given)
    rows = by_owner(given)
    assert (sum(g.clusters for g in rows), sum(g.critical for g in rows)) == (sums.clusters, sums.critical)
    assert {g.name for g in rows} == {c.owner for c in given.clusters}
    assert {g.name for g in by_tag(given)} == {"eu", "kafka-2.7"}


def test_a_chart_without_anything_to_show_is_left_out():
    assert set(figures(report(45))) == {"trend", "heat"}
    assert figures(empty()) == {}
    assert set(figures(dark())) == {"trend"}


def test_unknown_clusters_are_unknown_in_every_chart():
    given = dark()
    drawn = figures(given)
    assert [line["values"][-1] for panel in drawn["trend"]["panels"] for line in panel["lines"]] == [None, None, None]
    assert ranking(given) == ()
    some = report(45)
    lost = [n for n, c in enumerate(some.clusters) if not c.collected]
    assert lost
    assert all(place == 0 or n for at in lost for place, n in heat_rows(some)[at])
    assert heat_codes(some)


@for_each("name", HOSTILE)
def test_a_name_in_a_chart_and_in_a_script_is_text(name):
    assert not re.search("[<>&]", in_script([name]))
    assert json.loads(in_script([name])) == [for_script(name)]
    assert not any(map(is_dangerous, json.loads(in_script([name]))[0]))


def test_muted_findings_and_expired_mutes_are_shown():
    text = render_html(report(45))
    assert "the owner moves it in April" in text
    assert '<span class="badge warning">expired</span>' in text
    assert "nothing (expired)" in text


def luminance(colour):
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [palette.LIGHT, palette.DARK])
def test_all_text_can_be_read(colours):
    for name in palette.TEXTS:
        for ground in ("bg", "panel"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    for name in ("critical", "warning", "info", "good", "unknown", "muted"):
        assert contrast(colours["on"], colours[name]) >= 4.5, name
    assert len(set(colours.values())) == len(colours) == len(palette.LIGHT)


def test_no_script_reads_a_name_as_html():
    script = app_script()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", script)
    assert "</script" not in script
    assert len(SCRIPTS) == len(set(SCRIPTS))
