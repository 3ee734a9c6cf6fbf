"""Console and chat message: width, what is printed and what is left out; hostile names stay text."""

import pytest
from markdown_it import MarkdownIt

from kfix.core.harmless import is_dangerous, squeezed
from kfix.fleet.report.console import audit_text
from kfix.fleet.report.markdown import MOST, audit_markdown, code, prose
from tests.each import for_each
from tests.unit.fleet.report.reports import HOSTILE, dark, empty, report
from tests.unit.fleet.report.test_verdict import CLUSTER, finding, one


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_nothing_but_commands_and_long_words_is_wider_than_the_terminal(width):
    for line in audit_text(report(40), width).splitlines():
        assert len(line) <= width or line.lstrip().startswith("kfix ") or " " not in line.strip()


def test_the_summary_shows_numbers_unknown_clusters_news_and_mutes():
    text = audit_text(report(40), limit=3)
    for part in (
        "audit of 2026-03-01: 14 of 40 clusters are critical: ",
        "clusters read; since the audit of 2026-02-28: ",
        "STATE UNKNOWN, not scored: ",
        "riskiest clusters:",
    ):
        assert part in text
    assert "do first:" in text
    assert "more causes" in text
    assert "EXPIRED 2026-02-28: KFX611:* on edge-*: old hardware" in text
    assert "until 2026-03-31: KFX60? on *: the owner moves it in April, by Ana; covers" in text


def test_each_piece_of_news_has_a_line_to_go_on_with():
    text = audit_text(one(finding("critical", "new", command="", runbook="")))
    assert f"    kfix explain {finding('critical').code}\n" in text
    assert "    kfix runbook show isr-gone\n" in audit_text(
        one(finding("critical", "new", command="", runbook="isr-gone"))
    )
    assert "    kfix x  'two  blanks'\n" in audit_text(one(finding("critical", "new", command="kfix x  'two  blanks'")))


def test_only_new_prints_nothing_without_news():
    assert audit_text(one(finding("critical")), only_new=True) == ""
    assert audit_text(empty(), only_new=True) == ""
    shown = audit_text(one(finding("critical"), finding("warning", "new"), clusters=(CLUSTER,)), only_new=True)
    assert "WARNING" in shown
    assert "riskiest" not in shown


def test_empty_and_unread_fleets_differ():
    assert audit_text(empty()).startswith("audit of 2026-03-01: no findings\n")
    assert "findings: 0 critical, 0 warning, 0 info; score 100 of 100\n" in audit_text(empty())
    assert audit_text(dark()).startswith("audit of 2026-03-01: state unknown: none of the 4 clusters could be read\n")
    assert "no findings" not in audit_markdown(dark()).lower()


def test_no_hostile_name_moves_the_cursor():
    text = audit_text(report(20, hostile=True), 80, limit=99)
    assert not any(map(is_dangerous, text))
    assert squeezed(HOSTILE[4]) == r"two\nlines\r\nthree"


FORBIDDEN = {"link_open", "image", "html_inline", "html_block", "heading_open", "table_open", "fence", "code_block"}


def tokens(text):
    for token in MarkdownIt("commonmark").enable("table").enable("strikethrough").parse(text):
        yield token
        yield from token.children or ()


@for_each("given", lambda: [report(1), report(60), report(400), report(30, hostile=True), empty(), dark()])
def test_a_chat_message_is_short_and_has_neither_links_nor_html(given):
    text = audit_markdown(given)
    assert len(text) <= MOST
    assert not {t.type for t in tokens(text)} & FORBIDDEN
    if len(given.clusters) > 50:
        assert "left out; the full report has all of them" in text


@for_each("name", HOSTILE)
def test_a_name_is_unchanged_by_markdown(name):
    [inline] = [t for t in MarkdownIt("commonmark").parse(f"x {code(name, 99)} {prose(name)}") if t.type == "inline"]
    [span] = [t.content for t in inline.children if t.type == "code_inline"]
    assert squeezed(name)[:98].strip() in (span.strip(), span[:-1].strip())
    after = "".join(t.content for t in inline.children[2:]).strip()
    assert after.replace("\u200b", "")[:150] == squeezed(name)[:150]


def test_many_unknown_clusters_leave_room_for_what_is_new_in_a_chat_message():
    text = audit_markdown(report(400))
    lost = sum(not c.collected for c in report(400).clusters)
    assert lost > 6
    assert f"- and {lost - 5} more clusters" in text
    assert "**New or worse**" in text
