"""A folder of logs and outputs of several nodes as one text, read line by line: memory does not grow with its size."""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Final

from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.snapshot.snapshot import Snapshot
from kfix.diagnose.brokerlog.files import labels, lines
from kfix.diagnose.brokerlog.lines import LogClock
from kfix.diagnose.pasted.entries import is_trace, log_entry
from kfix.diagnose.pasted.gathered import Gathered
from kfix.diagnose.pasted.lines import PastedLine, bare_line, pasted_lines
from kfix.diagnose.pasted.reader import HINT, BlockReader, snapshot_of
from kfix.diagnose.pasted.signs import hints_in, is_quiet

#: Lines that show whether a file is a log.
_HEAD: Final = 50
#: Lines that are searched together.
_AT_ONCE: Final = 200
_MOST_FILES: Final = 5_000


def parse_folder(folder: Path, name: str) -> Snapshot:
    """Returns the snapshot of a folder's files. Raises UsageError without files, InvalidFileError without facts."""
    files = sorted(islice((p for p in folder.rglob("*") if p.is_file() and not p.name.startswith(".")), _MOST_FILES))
    if not files:
        raise UsageError(f"{folder}: holds no file", hint=HINT)
    reader, trouble = BlockReader(Gathered()), list[str]()
    for file, label in labels(files).items():
        for line in _of_file(file, label, trouble):
            reader.take(line)
        reader.end_blocks()
    gathered = reader.finish()
    gathered.problems += trouble
    if not gathered.anything:
        raise InvalidFileError((f"{name}: no partition and no error in {len(files)} files",), hint=HINT)
    return snapshot_of(gathered, name, max(file.stat().st_mtime for file in files))


def _of_file(file: Path, label: str, trouble: list[str]) -> Iterator[PastedLine]:
    """Yields the lines of a file; of a log without the entries that no wording can match."""
    found = lines(file, trouble)
    head = list(islice(found, _HEAD))
    clock = LogClock("UTC")
    is_log = any(log_entry(PastedLine(1, text, raw), clock) for raw in head if (text := bare_line(raw)[0]))
    numbered = enumerate(chain(head, found), 1)
    yield from pasted_lines(_worth_reading(numbered) if is_log else numbered, label)


def _worth_reading(numbered: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yields the lines that a wording may match: many lines are searched at once for what each must contain.

    An entry that none matches is kept if an exception is below it, which would otherwise belong to an earlier entry.
    """
    held: tuple[int, str] | None = None
    while lines_here := list(islice(numbered, _AT_ONCE)):
        hints = hints_in("\n".join(line for _, line in lines_here))
        for number, line in lines_here:
            if is_quiet(line, hints):
                held = (number, line)
            elif not line.startswith("\tat "):
                if held is not None and is_trace(line):
                    yield held
                held = None
                yield number, line
