"""The door through which kfix writes to standard output and standard error, and the net behind it.

`say` takes a line, `say_document` a finished document. Whatever else is written (a library's warning, a traceback)
falls into the net: while a command runs, both streams are `Guarded`. Rich writes beneath the net, since its colours are
escape sequences; `kfix.report.console` makes its text harmless before that. Nothing else in kfix prints.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from kfix.harmless import for_document, for_json, shown


class Guarded:
    """A text stream that escapes what a terminal would act on. It has no `buffer`, which would be a way around it."""

    def __init__(self, beneath: TextIO) -> None:
        self.beneath = beneath

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self.beneath.write(for_document(text))
        return len(text)

    def writelines(self, many: Iterable[str]) -> None:
        for text in many:
            self.write(text)

    def flush(self) -> None:
        self.beneath.flush()

    def isatty(self) -> bool:
        return self.beneath.isatty()

    def fileno(self) -> int:
        return self.beneath.fileno()

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.beneath.close()

    @property
    def closed(self) -> bool:
        return self.beneath.closed

    @property
    def encoding(self) -> str | None:
        return self.beneath.encoding

    @property
    def errors(self) -> str | None:
        return self.beneath.errors

    @property
    def name(self) -> Any:
        return getattr(self.beneath, "name", None)


def guard_streams() -> None:
    """From now on, for the whole process."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Guarded):
            setattr(sys, name, cast("TextIO", Guarded(stream)))


@contextmanager
def guarded() -> Iterator[None]:
    """The same for a while: a test's streams, or those of a program that calls kfix, come back."""
    before = sys.stdout, sys.stderr
    guard_streams()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def beneath(stream: TextIO) -> TextIO:
    """The stream that a guard stands before; for rich, and for documents whose line ends are CRLF."""
    return stream.beneath if isinstance(stream, Guarded) else stream


def say(text: str = "", *, err: bool = False) -> None:
    """One line, and a line end. Only `kfix.harmless.Lines` are several."""
    _write(f"{shown(text)}\n", err)


def say_json(value: Any, *, indent: int | None = None, ascii_only: bool = True) -> None:
    _write(f"{for_json(value, indent=indent, ascii_only=ascii_only)}\n", err=False)


def say_document(text: str) -> None:
    """What one of the writers of `kfix.harmless` has been through; it ends with one line end."""
    if text:
        _write(for_document(text if text.endswith("\n") else f"{text}\n"), err=False)


def _write(text: str, err: bool) -> None:
    stream: TextIO | None = sys.stderr if err else sys.stdout
    if stream is None:
        return
    # A name that the stream's encoding does not have becomes an escape, and is no reason to fail.
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()
