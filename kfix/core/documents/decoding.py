"""Decodes bytes that people paste as text: UTF-8, UTF-16 as PowerShell writes it, and Latin-1, even line by line."""

from __future__ import annotations

import codecs
from typing import Final

_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decoded(raw: bytes) -> str:
    """Returns the text; a line that is not UTF-8 is read as Latin-1, so that one byte does not spoil the others.

    Raises UnicodeDecodeError for bytes that are not text.
    """
    if raw.startswith(_UTF16):
        return raw.decode("utf-16")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        if b"\0" in raw:
            raise
        return "".join(map(decoded_line, raw.splitlines(keepends=True)))


def decoded_line(raw: bytes) -> str:
    """Returns one line, as Latin-1 if it is not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
