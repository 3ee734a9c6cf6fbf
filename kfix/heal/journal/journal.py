"""The journal of a run: one JSON object per line, before and after each change, each chained to the previous one."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from kfix.core.documents.opening import read_file
from kfix.core.errors import KfixError, UsageError
from kfix.core.harmless import for_json
from kfix.core.ports import Clock
from kfix.core.wording import utc_iso
from kfix.heal.journal.replay import wrong_in
from kfix.heal.model.answer import Answer
from kfix.heal.model.plan import CheckCall

# Holds back Ctrl-C, SIGTERM and SIGHUP between a change and the record of its result; a second one gets through.

Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP: it ends a run as Ctrl-C does, but no question is asked."""


@contextmanager
def held_back(*, always: bool = False) -> Iterator[None]:
    """Delays these signals until the end of a `with` block. Blocks may be nested.

    With `always`, meant for work that takes no time, a second signal is delayed as well. Only the main thread receives
    signals, so other threads are not affected.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []

    def later(number: int, _frame: FrameType | None) -> None:
        if pending and not always:
            raise KeyboardInterrupt
        pending.append(number)

    before = {number: signal.signal(number, later) for number in _ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for end in pending:
        _deliver(before[signal.Signals(end)], end)


def _deliver(handler: Handler, number: int) -> None:
    """Passes the signal to the previous handler: an outer block, an interrupt, or nothing if it was ignored."""
    if callable(handler):
        handler(number, None)
    elif handler is not signal.SIG_IGN:
        raise KeyboardInterrupt


@contextmanager
def as_ctrl_c() -> Iterator[None]:
    """Turns SIGTERM and SIGHUP into `Terminated` for a `with` block, so that the run ends in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise Terminated

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# A record is on disk before the run continues. The chain of hashes reveals edits. An incomplete last line is what a
# crash leaves, and is reported. After a broken line in the middle, what the run did is unknown.

Record = Mapping[str, Any]
Listener = Callable[[Record], None]
_START = "0" * 64


class JournalError(KfixError):
    """The journal cannot be written, so nothing more is changed."""

    exit_code = 3


class JournalFile(Protocol):
    """What a journal needs from its file. A test may pass one that is full."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> None: ...

    def fileno(self) -> int: ...


class Journal:
    """Writes records. `after` is the existing content of the file, whose chain it continues."""

    def __init__(
        self, file: JournalFile, common: Record, clock: Clock, listener: Listener, after: ReadBack | None = None
    ) -> None:
        self._file = file
        self._common = dict(common)
        self._clock = clock
        self._boot = clock.boot()
        self._listener = listener
        self._seq = 0 if after is None else len(after.records)
        self._prev = _START if after is None else after.tail

    def write(self, type_: str, **fields: Any) -> None:
        """Writes one record. It is on disk when this returns; the listener gets it after that.

        Raises JournalError if it cannot be written.
        """
        record = {
            "v": 1,
            "seq": self._seq,
            "prev": self._prev,
            "t": utc_iso(self._clock.now()),
            "mono": round(self._clock.monotonic(), 3),
            "boot": self._boot,
            "type": type_,
            **self._common,
            **fields,
        }
        line = for_json(record, compact=True).encode()
        # A Ctrl-C between writing the line and updating the chain would make the next line break the chain.
        with held_back(always=True):
            try:
                self._file.write(line + b"\n")
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError as error:
                raise JournalError(f"the journal cannot be written: {error.strerror}") from error
            self._seq += 1
            self._prev = hashlib.sha256(line).hexdigest()
        # An output that is full, closed or limited to ASCII must not stop a run part-way.
        with suppress(OSError, ValueError):
            self._listener(record)


@dataclass(slots=True)
class Samples:
    """Writes answers of checks to the journal. During a wait it writes only an answer that differs from the last."""

    journal: Journal
    last: dict[tuple[object, ...], tuple[object, ...]] = field(default_factory=dict)

    def record(self, call: CheckCall, answer: Answer, *, part: str, step: str | None = None, in_row: int = 0) -> None:
        where, seen = (part, step, call), (answer.verdict, answer.observed, in_row)
        if self.last.get(where) == seen:
            return
        self.last[where] = seen
        fields: dict[str, Any] = {} if step is None else {"step": step}
        self.journal.write(
            "verify.sample",
            **fields,
            part=part,
            check=str(call),
            observed=answer.observed,
            wanted=answer.wanted,
            verdict=answer.verdict.value,
            in_row=in_row,
        )


@dataclass(frozen=True, slots=True)
class ReadBack:
    """A journal as read from disk.

    `torn` means that the last line is incomplete. `broken` names the first line that cannot be trusted, and why.
    `tail` is the hash that the next record must name, `size` the length of the complete lines in bytes.
    """

    records: tuple[dict[str, Any], ...]
    torn: bool = False
    broken: str = ""
    tail: str = _START
    size: int = 0


def read_back(path: Path) -> ReadBack:
    try:
        raw = read_file(path)
    except OSError as error:
        return ReadBack((), broken=f"{path}: {error.strerror}")
    except UsageError as error:
        return ReadBack((), broken=str(error))
    *lines, rest = raw.split(b"\n")
    records: list[dict[str, Any]] = []
    prev = _START
    for number, line in enumerate(lines, 1):
        record, wrong = _parse(line)
        if not wrong and (record.get("prev") != prev or record.get("seq") != number - 1):
            wrong = "does not follow the line before it"
        if wrong:
            return ReadBack(tuple(records), bool(rest), f"{path}:{number}: {wrong}; it was edited or damaged")
        records.append(record)
        prev = hashlib.sha256(line).hexdigest()
    return ReadBack(tuple(records), torn=bool(rest), tail=prev, size=len(raw) - len(rest))


def _parse(line: bytes) -> tuple[dict[str, Any], str]:
    """Returns the record, and what is wrong with it or ""."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}, "is not a record"
    return record, wrong_in(record)
