r"""Escapes foreign text: the only module that decides which characters are dangerous, with one function per output.

Foreign is every text that kfix did not write itself: names and errors from a cluster, plans, journals, saved
snapshots, broker logs, pasted text, the inventory. A dangerous character becomes a readable escape in Python's form:
`\x1b`, `\u202e`, `\n`. Dangerous are

- terminal control characters: C0 and C1, DEL,
- characters that change the reading order: bidirectional marks, embeddings, overrides and isolates,
- line ends of some programs only: U+0085, U+2028, U+2029,
- invisible characters, which make different names look equal or hide text: zero-width characters, soft hyphens,
  fillers, variation selectors, tags, the byte order mark,
- characters that are not text, or not known to this Python: lone surrogates, noncharacters, private and unassigned
ones.

These are all characters that Python does not consider printable, except spaces of other widths, plus letters and marks
without a glyph. Letters of any script are kept: they may look alike, but they are visible.
An escape is indistinguishable from a name with a real backslash; only the JSON output is lossless.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

# Letters, marks and a symbol that are printable for Python, but invisible.
_SHAPELESS: Final = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_SUSPECT: Final = re.compile(r"[^\n\t -~]")
_SUSPECT_IN_LINE: Final = re.compile(r"[^ -~]")
# CRLF, and the zero-width space that kfix inserts after an @ in Markdown, are allowed in a document.
_SUSPECT_IN_DOCUMENT: Final = re.compile(r"\r(?!\n)|[^\r\n\t -~\u200b]")


@lru_cache(maxsize=4096)
def is_dangerous(character: str) -> bool:
    """Whether a single character is dangerous. Line ends and tabs are not, since they are only dangerous in a line."""
    if character in "\n\t":
        return False
    if character.isprintable():
        return _SHAPELESS.match(character) is not None
    return unicodedata.category(character) != "Zs"


class Lines(str):
    """Several lines created by `lines`: no line end in it is foreign."""

    __slots__ = ()

    def __str__(self) -> Lines:  # For str() of an exception to keep the type of its message.
        return self

    def __add__(self, more: str) -> Lines:
        """Appends `more` to the last line, or further lines if it is `Lines`."""
        return Lines(str.__add__(self, shown(more)))

    def removesuffix(self, suffix: str, /) -> Lines:
        return Lines(str.removesuffix(self, suffix))


def lines(*parts: str) -> Lines:
    """Returns several lines: each part is one line, or several if it is `Lines`."""
    return Lines("\n".join(shown(part) for part in parts))


def shown(text: str) -> str:
    """Returns the text as one line, unless it is `Lines`. All lines for people pass through this function."""
    return text if isinstance(text, Lines) else one_line(text)


def one_line(text: str) -> str:
    """Returns one line for a terminal: line ends and tabs are escaped, so that no value can forge a line of kfix."""
    return _SUSPECT_IN_LINE.sub(_escape_in_line, text)


def squeezed(text: str) -> str:
    """Returns the text as one line without control characters or repeated blanks."""
    return " ".join(one_line(text).split())


def shortened(text: str, most: int) -> str:
    """Returns one line of at most `most` characters."""
    line = squeezed(text)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def for_terminal(text: str) -> str:
    """Returns text for a terminal with its line ends and tabs; only for text whose line ends are not foreign."""
    return _SUSPECT.sub(_escape, text)


def for_document(text: str) -> str:
    """Escapes a finished document (Markdown, CSV, JSON) once more, except CRLF and the zero-width space of kfix."""
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
    """Returns JSON with dangerous characters escaped, which decodes to the same text. NaN becomes null."""
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
    # Such characters only occur in strings, and line ends in strings are already escaped.
    return _SUSPECT.sub(lambda found: json.dumps(found[0])[1:-1] if is_dangerous(found[0]) else found[0], text)


def for_html(value: Any) -> Any:
    """Escapes a value in a template; markup objects are kept, since the template escapes markup itself."""
    return value if hasattr(value, "__html__") else for_terminal(str(value))


def for_script(value: Any) -> Any:
    """Escapes all strings in JSON data that a script in a page displays as text."""
    if isinstance(value, str):
        return for_terminal(value)
    if isinstance(value, Mapping):
        return {for_script(k): for_script(v) for k, v in value.items()}
    return [for_script(v) for v in value] if isinstance(value, list | tuple) else value


_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>~|&#!])")
_LINK: Final = re.compile(r"(?<=[A-Za-z]):(?=//)|(?<=www)\.|(?<=mailto):|(?<=xmpp):", re.IGNORECASE)


def for_markdown(text: str) -> str:
    """Returns one line with Markdown characters escaped, and no text that chat tools convert to links or mentions."""
    line = _SPECIAL.sub(r"\\\1", one_line(text))
    return _LINK.sub(r"\\\g<0>", line).replace("@", "@\u200b")


def for_markdown_code(text: str) -> str:
    """Returns a code span, delimited by more backticks than the text has in a row."""
    line = one_line(text) or " "
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def for_prometheus(text: str) -> str:
    """Returns a label value without quotes, or a HELP text; line ends are encoded as the format requires."""
    for_label = {"\\": r"\\", "\n": r"\n", '"': r"\""}
    return "".join(for_label.get(c, c) for c in _SUSPECT.sub(_escape, text).replace("\t", r"\t"))


# Characters that start a formula in a spreadsheet; the wide forms only in East Asian locales.
_FORMULA: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def for_csv(text: str) -> str:
    """Returns one line, with a leading apostrophe if it looks like a formula. The CSV writer adds the quotes."""
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
