"""Hostile text, a way to put it into every text of an object or of JSON, and what no output may hold."""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kfix.core.harmless import is_dangerous
from kfix.front.console import HarmlessConsole, console_on
from kfix.front.plain import PlainConsole
from tests.proofs.hostile import CASES

FORGED = "PROVED HEALED"
PIECES = (
    "\x1b[2J\x1b[H",
    "\x1b]0;title\x07",
    "\x1b]52;c;cm0gLXJm\x1b\\",
    "\x9b2J",
    "\x9d0;title\x9c",
    f"\n{FORGED}  by kfix",
    f"\r{FORGED}",
    f"\r\n{FORGED}",
    f"\v{FORGED}\f{FORGED}",
    f"\x85{FORGED}",
    f"\u2028{FORGED}\u2029{FORGED}",
    "\x00\x08\x08\x7f\x1c\x1d\x1e\x1f",
    "\u202e\u202d\u202a\u202b\u202c",
    "\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u3164\ufe0f",
    "\U000e0041\U000e007f\ue000\ufdd0",
    "\ud800",
    "\tafter a tab",
    "[bold red]x[/]",
    "</script><img src=x onerror=alert(1)>",
    "|a|`b`[c](http://evil.example)<!--",
    "=cmd|' /c calc'!A0",
    '"\\',
    "{{ 7*7 }}",
    f"{'x ' * 60}{FORGED}",
    "Ω漢字é",
)
ALL_PIECES = "".join(PIECES)
hostile_texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join)

#: Texts that only kfix makes, and whose meaning decides what is printed; a person never sees them as they are.
KINDS = frozenset({"tone", "kind", "mode", "verdict", "proof", "theme", "severity", "status", "confidence"})


def poisoned(value: Any, text: str, *, field: str = "") -> Any:  # noqa: PLR0911 - one return a kind
    """A copy with `text` before every text in it, whatever it is made of; enumerations stay."""
    if field in KINDS or isinstance(value, Enum | Path | bytes):
        return value
    if isinstance(value, str):
        return f"{text} {value}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [f.name for f in dataclasses.fields(value) if f.init]
        return dataclasses.replace(value, **{f: poisoned(getattr(value, f), text, field=f) for f in fields})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(poisoned(v, text, field=f) for f, v in zip(value._fields, value, strict=True)))
    if isinstance(value, tuple | list):
        return type(value)(poisoned(v, text) for v in value)
    if isinstance(value, Mapping):
        return {k: poisoned(v, text) for k, v in value.items()}
    return value


def poisoned_json(data: Any, text: str, random: Random, share: float = 0.3) -> Any:
    """A copy in which some texts, and some names of members, begin with `text`."""
    if isinstance(data, str):
        return f"{text}{data}" if random.random() < share else data
    if isinstance(data, dict):
        rename = {k: f"{text}{k}" if random.random() < share / 30 else k for k in data}
        return {rename[k]: poisoned_json(v, text, random, share) for k, v in data.items()}
    return [poisoned_json(v, text, random, share) for v in data] if isinstance(data, list) else data


def assert_harmless(said: str, *, document: bool = False) -> None:
    """No control but line ends and tabs, nothing unseen, no turned text; and no line that kfix has not begun itself.

    A document (Markdown, CSV) may end its lines by CRLF, and kfix itself puts zero-width spaces into Markdown.
    """
    if document:
        said = said.replace("\r\n", "\n").replace("\u200b", "")
    assert not [hex(ord(c)) for c in sorted(set(said)) if is_dangerous(c)]
    assert not [line for line in said.splitlines() if line.startswith(FORGED)]


def assert_page(said: str) -> None:
    """HTML: a line end within a text is a blank to a browser."""
    assert not [hex(ord(c)) for c in sorted(set(said)) if is_dangerous(c)]
    assert "<img" not in said


LOOK = settings(
    max_examples=max(4, CASES // 40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def hostile(test: Callable[..., None]) -> Callable[..., None]:
    return LOOK(given(text=hostile_texts)(example(text=ALL_PIECES)(test)))


class Screen(io.StringIO):
    """A terminal 80 wide, so that colours and bars are drawn."""

    def isatty(self) -> bool:
        return True


def printed(*prints: Callable[[HarmlessConsole], object]) -> Iterator[str]:
    """In a pipe, and on a terminal without the escape sequences of rich's own colours."""
    pipe, screen_ = io.StringIO(), Screen()
    consoles = (
        console_on(pipe),
        HarmlessConsole(file=screen_, markup=False, emoji=False, color_system=None, width=80),
    )
    for console, out in zip(consoles, (pipe, screen_), strict=True):
        for each in prints:
            each(console)
        yield out.getvalue()


def printed_as_lines(*prints: Callable[[PlainConsole], object]) -> Iterator[str]:
    """The same on the console that a diagnosis is printed on."""
    pipe, screen_ = io.StringIO(), Screen()
    for out in (pipe, screen_):
        for each in prints:
            each(PlainConsole(out))
    yield pipe.getvalue()
    yield re.sub("\x1b\\[[0-9;]*m", "", screen_.getvalue())
