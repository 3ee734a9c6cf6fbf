"""The only module that writes to standard output and standard error, with a guard for everything else.

`say` writes a line, `say_document` a finished document. While a command runs, both streams are `Guarded`, so that other
output, such as warnings of a library or a traceback, is escaped. Rich writes below the guard, since its colours are
escape sequences; `kfix.front.console` escapes its text first. No other module of kfix prints.

If the reader of a pipe is gone, the rest of that stream is discarded. A command whose exit code is an answer, or that
changes something, runs to its end (`run_on`); any other ends with ReaderGoneError.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, TextIO, cast

from kfix.core.harmless import for_document, for_json, shown


class ReaderGoneError(BrokenPipeError):
    """The reader of standard output is gone, and the command only prints.

    It has no errno, by which typer would end the process with its own exit code.
    """


class _Pipe:
    """What happens to a command whose output has no reader any more."""

    runs_on = False
    gone = False


class Guarded:
    """A text stream that escapes control characters. It has no `buffer`, which would bypass the escaping."""

    def __init__(self, beneath: TextIO) -> None:
        self.beneath = beneath
        self.printed = False

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self.printed = self.printed or bool(text)
        try:
            self.beneath.write(for_document(text))
        except BrokenPipeError:
            discard_rest(self.beneath)
        return len(text)

    def writelines(self, many: Iterable[str]) -> None:
        for text in many:
            self.write(text)

    def flush(self) -> None:
        try:
            self.beneath.flush()
        except BrokenPipeError:
            discard_rest(self.beneath)

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
    """Guards both streams for the rest of the process."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Guarded):
            setattr(sys, name, cast("TextIO", Guarded(stream)))


@contextmanager
def guarded() -> Iterator[None]:
    """Guards both streams for a while and restores them, for tests and programs that call kfix."""
    before = sys.stdout, sys.stderr
    guard_streams()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        _Pipe.runs_on = _Pipe.gone = False


def run_on() -> None:
    """Lets the command run to its end and keep its exit code, even without a reader of its output."""
    _Pipe.runs_on = True


def reader_is_gone() -> bool:
    """Whether the reader of standard output has closed the pipe, as far as the command has noticed."""
    return _Pipe.gone


def nothing_printed() -> bool:
    """Whether standard output is still empty: a document for a machine may follow. Rich's output does not count."""
    return not (isinstance(sys.stdout, Guarded) and sys.stdout.printed)


def beneath(stream: TextIO) -> TextIO:
    """Returns the stream below the guard; for rich, and for documents with CRLF line ends."""
    return stream.beneath if isinstance(stream, Guarded) else stream


def discard_rest(file: IO[str]) -> None:
    """Discards the rest of a standard stream, because the reader of its pipe is gone.

    Raises ReaderGoneError if that is standard output and the command need not run to its end.
    """
    is_output = file is beneath(sys.stdout)
    if is_output or file is beneath(sys.stderr):
        # Python would report the closed pipe again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
    if is_output:
        _Pipe.gone = True
        if not _Pipe.runs_on:
            raise ReaderGoneError("the reader of standard output closed the pipe")


def say(text: str = "", *, err: bool = False) -> None:
    """Writes one line and a line end; several lines only for `kfix.core.harmless.Lines`."""
    _write(f"{shown(text)}\n", err)


def say_json(value: Any, *, indent: int | None = None, ascii_only: bool = True) -> None:
    _write(f"{for_json(value, indent=indent, ascii_only=ascii_only)}\n", err=False)


def say_document(text: str) -> None:
    """Writes a document that a function of `kfix.core.harmless` has escaped, with one line end at the end."""
    if text:
        _write(for_document(text if text.endswith("\n") else f"{text}\n"), err=False)


def _write(text: str, err: bool) -> None:
    stream: TextIO | None = sys.stderr if err else sys.stdout
    if stream is None:
        return
    # Characters that the encoding of the stream lacks become escapes instead of an error.
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()
