"""The post-mortem in its formats: golden Markdown, a bounded page, and no name that breaks either."""

import json
import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kfix.incident.model import Moment
from kfix.incident.report.drawing import DARK, LIGHT, Drawing
from kfix.incident.report.facts import incident_json
from kfix.incident.report.markdown import EVENTS, incident_markdown
from kfix.incident.report.page import render_incident
from kfix.incident.report.words import apart, long, named
from tests.places import GOLDEN
from tests.unit.fleet.report.test_html import contrast
from tests.unit.incident.report import reports

GOLDEN_FOLDER = GOLDEN / "incident"


@pytest.mark.parametrize("name", ["founding_incident", "single", "with_run_only"])
def test_the_markdown_is_the_golden_one(name):
    text = incident_markdown(getattr(reports, name)())
    path = GOLDEN_FOLDER / f"{name.replace('_', '-')}.md"
    if os.environ.get("KFIX_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_page_markdown_and_json_show_the_same():
    report = reports.founding_incident()
    page, text, document = render_incident(report), incident_markdown(report), json.loads(incident_json(report))
    for words in ("Payments stood still", "KFX101", "coordinator-stuck", "reassign.noop", "ann@ops1"):
        assert words in page
        assert words.replace("@", "@\u200b") in text.replace("\\", "")
    assert len(document["events"]) == len(report.events)
    assert page == render_incident(report)


def test_a_large_report_stays_small_and_states_what_it_leaves_out():
    report = reports.large()
    page, text = render_incident(report), incident_markdown(report)
    assert len(page) < 2_000_000
    assert len(text) < 400_000
    assert page.count("<tr class=") <= EVENTS
    for output in (page, text):
        assert re.search(r"\d+ minor events left out", output)
        assert re.search(r"\d+ more histor", output)


def test_the_page_asks_nothing_of_the_network_and_runs_one_script():
    page = render_incident(reports.founding_incident())
    assert "default-src &#39;none&#39;" in page
    assert page.count("<script") == 1
    assert not re.search(r"(?:src|href)=\"(?!data:,|#)", page)
    assert "http" not in page.replace("http-equiv", "")


def test_no_hostile_name_is_an_element_of_the_page_or_a_link_of_the_text():
    page = render_incident(reports.hostile())
    assert page.count("<script") == 1
    assert "<img" not in page
    rendered = MarkdownIt("commonmark", {"html": True, "linkify": False}).render(incident_markdown(reports.hostile()))
    assert not re.search(r"<(?:script|img|a|iframe)\b", rendered)


@given(st.floats(0, 1e7))
def test_durations_are_short(seconds):
    assert len(long(seconds)) <= 12


def test_durations_of_bounded_moments_are_ranges():
    exact, late = Moment(100.0, ""), Moment(160.0, "", 130.0)
    assert apart(exact, late) == "30 s to 1 min"
    assert apart(exact, Moment(100.0, "")) == "0 s"
    assert apart(Moment(104.0, "", 100.0), Moment(104.0, "")) == "up to 4.0 s"
    assert apart(exact, None) == "unknown"


def test_partitions_are_named_by_ranges():
    from kfix.core.snapshot.snapshot import TopicPartition

    assert named([TopicPartition("a", n) for n in (0, 1, 2, 5)]) == "a-[0\N{EN DASH}2,5]"
    assert named([TopicPartition("a", 3)]) == "a-3"
    assert named([TopicPartition("a", n) for n in range(0, 3000, 3)]).endswith("30,33 and 988 more]")
    assert (
        named([TopicPartition(f"t{n:02}", 0) for n in range(20)], 2)
        == "t00-0, t01-0, and 18 more partitions of 18 topics"
    )


def test_bars_lie_within_the_picture():
    for report in (reports.founding_incident(), reports.large(), reports.single()):
        drawing = Drawing(report)
        for row in [*drawing.partitions(), *drawing.brokers(), *drawing.controller()]:
            assert all(0 <= bar.x <= bar.x + bar.width <= 100.01 for bar in row.bars)
        assert 1 <= len(drawing.ticks()) <= 9


def test_colours_of_brokers_carry_text_in_both_schemes():
    """4.5 against what stands on them, 3 against the page."""

    from kfix.front.html import palette as shared

    for own, common in ((LIGHT, shared.LIGHT), (DARK, shared.DARK)):
        for colour in own:
            assert contrast(colour, common["on"]) >= 4.5, colour
            assert contrast(colour, common["bg"]) >= 3, colour
