"""Which characters are dangerous, and what each output makes of them."""

from __future__ import annotations

import io
import json
import pickle
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markupsafe import Markup
from prometheus_client.parser import text_string_to_metric_families
from rich.panel import Panel
from rich.text import Text

from kfix.core.errors import RefusedError
from kfix.core.harmless import (
    Lines,
    for_csv,
    for_document,
    for_html,
    for_json,
    for_markdown,
    for_markdown_code,
    for_prometheus,
    for_script,
    for_terminal,
    is_dangerous,
    lines,
    one_line,
    shown,
)
from kfix.front.console import HarmlessConsole, block, joined, overwrite, styled, table
from kfix.front.terminal import Guarded, guard_streams, guarded, say, say_document, say_json
from tests.proofs.poison import ALL_PIECES

TEXTS = st.text(st.characters() | st.sampled_from(list(ALL_PIECES)), max_size=60)


def test_every_control_format_and_surrogate_character_is_dangerous_and_no_letter_is() -> None:
    kinds: dict[str, set[bool]] = {}
    for number in range(sys.maxunicode + 1):
        c = chr(number)
        if c not in "\n\t":
            kinds.setdefault(unicodedata.category(c), set()).add(is_dangerous(c))
    for kind in ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"):
        assert kinds[kind] == {True}, kind
    for kind in ("Ll", "Lu", "Lm", "Nd", "Nl", "No", "Pc", "Pd", "Pe", "Ps", "Po", "Sm", "Sc", "Sk", "Zs", "Mc", "Me"):
        assert kinds[kind] == {False}, kind
    assert [c for c in "\u115f\u1160\u3164\uffa0\u034f\u180b\ufe0f\u2800\U000e0100" if not is_dangerous(c)] == []


@given(TEXTS)
def test_a_line_is_one_line_and_what_was_harmless_stays(text: str) -> None:
    said = one_line(text)
    assert not any(is_dangerous(c) or c in "\n\t" for c in said)
    assert one_line(said) == said
    assert not any(map(is_dangerous, for_terminal(text)))
    assert for_terminal(text).count("\n") == text.count("\n")
    if text.isascii() and text.isprintable():
        assert said == text


@given(TEXTS)
def test_json_is_lossless_and_harmless(text: str) -> None:
    for options in ({}, {"indent": 2}, {"ascii_only": True}, {"compact": True}):
        said = for_json({"a": [text], text: 1}, **options)
        assert not any(map(is_dangerous, said))
        assert json.loads(said) == {"a": [text], text: 1}


def test_json_has_no_number_that_json_does_not_know() -> None:
    assert json.loads(for_json({"a": float("nan"), "b": [float("inf"), 1.5]})) == {"a": None, "b": [None, 1.5]}


@given(TEXTS)
def test_markdown_is_one_paragraph_of_text(text: str) -> None:
    for said in (for_markdown(text), for_markdown_code(text)):
        assert not any(map(is_dangerous, said.replace("\u200b", "")))
        [_, inline, _] = MarkdownIt("commonmark").parse(f"x {said} x")
        assert {t.type for t in inline.children or ()} <= {"text", "text_special", "code_inline"}


@given(TEXTS)
def test_prometheus_reads_a_label_back(text: str) -> None:
    [family] = text_string_to_metric_families(f'# TYPE x gauge\nx{{a="{for_prometheus(text)}"}} 1\n')
    assert family.samples[0].labels == {"a": for_terminal(text).replace("\t", r"\t")}


def test_a_mention_in_markdown_notifies_no_user() -> None:
    for text in ("@here", "a@b", "x @all @ann", "@"):
        assert for_markdown(text) == text.replace("@", "@\u200b")


def test_a_formula_in_a_cell_is_text_wherever_its_line_begins() -> None:
    for sign in ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"):
        for before in ("", " ", "   ", "\n", "\t", "\r\n ", "\u3000"):
            assert for_csv(f"{before}{sign}1+1").startswith("'")
    assert for_csv("1+1") == "1+1"


@given(TEXTS)
def test_no_cell_is_a_formula_or_has_a_line_end(text: str) -> None:
    assert not for_csv(text).lstrip().startswith(("=", "+", "-", "@", "\uff1d"))
    assert not any(is_dangerous(c) or c == "\n" for c in for_csv(text))


def test_html_keeps_markup_of_kfix_and_the_tree_of_a_script_is_whole() -> None:
    assert for_html(Markup("<b>\x1b</b>")) == "<b>\x1b</b>"
    assert for_html("a\x1b") == r"a\x1b"
    assert for_html(3) == "3"
    assert for_script({"a\x1b": ["b\u202e", ("c\0", 1, None)]}) == {r"a\x1b": [r"b\u202e", [r"c\x00", 1, None]]}


def test_a_document_keeps_crlf_and_the_break_of_a_mention() -> None:
    assert for_document("a\r\nb\rc\n@\u200bd\x1b") == "a\r\nb\\rc\n@\u200bd\\x1b"


def test_lines_are_made_of_lines_and_anything_else_loses_its_line_ends() -> None:
    made = lines("a\nb", lines("c", "d"), "e")
    assert made == "a\\nb\nc\nd\ne"
    assert shown(made) == made
    assert shown(str(made)) == made
    assert shown(f"{made}!") == r"a\nb\nc\nd\ne!"
    assert isinstance(made + "f\ng", Lines)
    assert made + "f\ng" == made + r"f\ng"
    assert shown(made.removesuffix("e")) == "a\\nb\nc\nd\n"
    assert shown(str(RefusedError(made))) == made
    assert type(pickle.loads(pickle.dumps(made))) is Lines
    assert shown(pickle.loads(pickle.dumps(made))) == made


def console(width: int = 40) -> tuple[HarmlessConsole, io.StringIO]:
    out = io.StringIO()
    return HarmlessConsole(file=out, width=width, markup=False, emoji=False), out


def test_the_console_escapes_in_text_that_went_around_the_door() -> None:
    made, out = console()
    made.print(Text("a\x1b[2Jb\nc", "bold"), soft_wrap=True)
    made.print("d\x9be\nf")
    made.print(Panel("g\x1bh"))
    assert "a\\x1b[2Jb\\nc\nd\\x9be\\nf\n" in out.getvalue()
    assert r"g\x1bh" in out.getvalue()
    assert not any(map(is_dangerous, out.getvalue()))


def test_styles_stay_on_the_words_they_were_on() -> None:
    text = joined(("a\x1b", "red"), ("b\n", "green"), ("c", ""))
    assert text.plain == r"a\x1bb\nc"
    assert [(text.plain[s.start : s.end], s.style) for s in text.spans] == [(r"a\x1b", "red"), (r"b\n", "green")]
    made, out = console()
    raw = Text.assemble(("a\x1b", "red"), ("b\n", "green"), "c")
    made.print(raw)
    assert out.getvalue() == "a\\x1bb\\nc\n"


def test_a_long_value_never_begins_a_line() -> None:
    text = f"{'x ' * 19}FORGED {'x ' * 19}FORGED"
    made, out = console()
    made.print(text)
    rows = table()
    rows.add_column(text)
    rows.add_row(text)
    made.print(rows)
    assert "FORGED" in out.getvalue()
    assert not [line for line in out.getvalue().splitlines() if line.startswith("FORGED")]


def test_several_lines_are_printed_as_such_only_from_a_block() -> None:
    made, out = console()
    made.print(block(styled("a\nb"), styled("c")), soft_wrap=True)
    made.print(styled(lines("d", "e")), soft_wrap=True)
    rows = table(show_header=False)
    rows.add_row("1", block(styled("f"), styled("g\nh")))
    made.print(rows)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [r"a\nb", "c", "d", "e", "1  f", r"   g\nh"]


def test_a_line_that_is_written_over_itself_holds_one_return_only() -> None:
    made, out = console()
    overwrite(made, "a\rb\x1b[2J", 13)
    assert out.getvalue() == "\ra\\rb\\x1b[2J  "


def test_the_guard_comes_and_goes_and_takes_text_only(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with guarded():
        stream = sys.stdout
        assert isinstance(stream, Guarded)
        guard_streams()
        assert sys.stdout is stream
        with pytest.raises(TypeError):
            stream.write(b"\x1b")  # type: ignore[arg-type]
        stream.writelines(["a\x1b", "\n"])
        say("b\n\x1b")
        say_json({"c": "\x9b"}, ascii_only=False)
        say_document("d\x1b\ne\r\n")
    assert sys.stdout is before
    assert capsys.readouterr().out == 'a\\x1b\nb\\n\\x1b\n{"c": "\\u009b"}\nd\\x1b\ne\r\n'
