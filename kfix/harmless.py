r"""Foreign text made harmless: the one place that decides which characters are dangerous, with one function an output.

Foreign is every text that kfix did not write itself: names and errors from a cluster, plans, journals, saved
snapshots, brokers' logs, pasted text, the inventory. A dangerous character becomes an escape that can be read, always
in the form that Python uses: `\x1b`, `\u202e`, `\n`. Dangerous are

- what a terminal acts on: C0 and C1 controls, DEL,
- what changes the order in which text is read: bidirectional marks, embeddings, overrides and isolates,
- what ends a line for some programs only: U+0085, U+2028, U+2029,
- what cannot be seen, and so makes two names look alike or hides text within text: zero-width characters, soft
  hyphens, fillers, variation selectors, tags, the byte order mark,
- what is no text, or none that this Python knows: lone surrogates, noncharacters, private and unassigned characters.

That is every character that Python does not call printable, without blanks of other widths, and with the letters and
marks that have no shape. Letters of any script stay as they are: they may look alike, but they are seen.
An escape cannot be told apart from a name that holds a real backslash; JSON is the output that loses nothing.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

# Letters, marks and a symbol that Python calls printable and that nobody sees.
_SHAPELESS: Final = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_SUSPECT: Final = re.compile(r"[^\n\t -~]")
_SUSPECT_IN_LINE: Final = re.compile(r"[^ -~]")
# CRLF, and the zero-width space that kfix itself puts behind an @ in Markdown, may stand in a document.
_SUSPECT_IN_DOCUMENT: Final = re.compile(r"\r(?!\n)|[^\r\n\t -~\u200b]")


@lru_cache(maxsize=4096)
def is_dangerous(character: str) -> bool:
    """Of a single character; a line end and a tab are dangerous within a line only, and are not meant here."""
    if character in "\n\t":
        return False
    if character.isprintable():
        return _SHAPELESS.match(character) is not None
    return unicodedata.category(character) != "Zs"


class Lines(str):
    """Several lines of kfix's own, made by `lines`: no line end in it came from outside."""

    __slots__ = ()

    def __str__(self) -> Lines:  # so that str() of an exception keeps what its message is
        return self

    def __add__(self, more: str) -> Lines:
        """`more` goes on in the last line, or adds lines where it is `Lines` itself."""
        return Lines(str.__add__(self, shown(more)))

    def removesuffix(self, suffix: str, /) -> Lines:
        return Lines(str.removesuffix(self, suffix))


def lines(*parts: str) -> Lines:
    """Each part becomes one line, or stays the lines that it is."""
    return Lines("\n".join(shown(part) for part in parts))


def shown(text: str) -> str:
    """One line, unless the text is `Lines`. This is what every line for people goes through."""
    return text if isinstance(text, Lines) else one_line(text)


def one_line(text: str) -> str:
    """For a terminal: a line end or a tab becomes an escape too, so that no value can forge a line of kfix."""
    return _SUSPECT_IN_LINE.sub(_escape_in_line, text)


def for_terminal(text: str) -> str:
    """For a terminal, with the text's own line ends and tabs; only for text whose line ends are kfix's."""
    return _SUSPECT.sub(_escape, text)


def for_document(text: str) -> str:
    """The last net under a finished document (Markdown, CSV, JSON): CRLF and kfix's own zero-width space stay."""
    return _SUSPECT_IN_DOCUMENT.sub(_escape, text)


def for_json(
    value: Any,
    *,
    indent: int | None = None,
    ascii_only: bool = False,
    sort_keys: bool = False,
    compact: bool = False,
    default: Callable[[Any], Any] | None = None,
) -> str:
    """Valid JSON from which a reader gets the very same text: dangerous characters are escaped. NaN becomes null."""
    encoder = json.JSONEncoder(
        indent=indent,
        ensure_ascii=ascii_only,
        sort_keys=sort_keys,
        separators=(",", ":") if compact else None,
        default=default,
        allow_nan=False,
    )
    try:
        text = encoder.encode(value)
    except ValueError:
        text = encoder.encode(_finite(value))
    # Outside of its strings the text has no character of these; a line end within a string is escaped already.
    return _SUSPECT.sub(lambda found: json.dumps(found[0])[1:-1] if is_dangerous(found[0]) else found[0], text)


def for_html(value: Any) -> Any:
    """What a template is about to print: the template escapes markup, this escapes characters. Markup stays."""
    return value if hasattr(value, "__html__") else for_terminal(str(value))


def for_script(value: Any) -> Any:
    """All texts within JSON's types, for data that a script in a page shows: text there is put in as text."""
    if isinstance(value, str):
        return for_terminal(value)
    if isinstance(value, Mapping):
        return {for_script(k): for_script(v) for k, v in value.items()}
    return [for_script(v) for v in value] if isinstance(value, list | tuple) else value


_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>~|&#!])")
_LINK: Final = re.compile(r"(?<=[A-Za-z]):(?=//)|(?<=www)\.|(?<=mailto):|(?<=xmpp):", re.IGNORECASE)


def for_markdown(text: str) -> str:
    """One line with Markdown's own characters escaped, no address that a chat tool makes a link of, no mention."""
    line = _SPECIAL.sub(r"\\\1", one_line(text))
    return _LINK.sub(r"\\\g<0>", line).replace("@", "@\u200b")


def for_markdown_code(text: str) -> str:
    """A code span, fenced by more backticks than the text has in a row."""
    line = one_line(text) or " "
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def for_prometheus(text: str) -> str:
    """A label's value, without its quotes, or a HELP text. A line end stays one, by the format's rules."""
    for_label = {"\\": r"\\", "\n": r"\n", '"': r"\""}
    return "".join(for_label.get(c, c) for c in _SUSPECT.sub(_escape, text).replace("\t", r"\t"))


# What a spreadsheet takes for a formula; the wide forms only where the locale is an East Asian one.
_FORMULA: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def for_csv(text: str) -> str:
    """One line; a quote stands before what a spreadsheet would take for a formula. Quoting is the writer's matter."""
    line = one_line(text)
    return f"'{line}" if text.lstrip().startswith(_FORMULA) or line.lstrip().startswith(_FORMULA) else line


def _escape_in_line(found: re.Match[str]) -> str:
    return _escaped(found[0]) if found[0] in "\n\t" or is_dangerous(found[0]) else found[0]


def _escape(found: re.Match[str]) -> str:
    return _escaped(found[0]) if is_dangerous(found[0]) else found[0]


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list | tuple) else value
