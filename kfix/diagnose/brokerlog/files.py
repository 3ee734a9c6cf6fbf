"""Finds broker logs, including rotated (`server.log.2026-11-21-09`) and `.gz` ones, and reads their lines."""

import gzip
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final

from kfix.core.documents.opening import open_file
from kfix.core.errors import UsageError
from kfix.diagnose.brokerlog.lines import LONGEST

#: Kafka's own names, the lab's `broker-1.log`, and `kafkaServer.out`, the console output of Kafka's start script.
_LOG: Final = re.compile(r"(server|controller|state-change|broker-\d+|kafka)\.log(\.[\w.-]+)?|kafkaServer\.out")
_GZIP: Final = b"\x1f\x8b"
#: Largest uncompressed size of a gzipped log. Brokers rotate at 100 MB or hourly; 1 GB is read in a few seconds.
_MOST_UNPACKED: Final = 4 << 30


def found(places: Sequence[Path]) -> tuple[Path, ...]:
    """Returns the given files, and all broker logs in the given folders.

    Raises UsageError if a path does not exist or a folder has no broker log.
    """
    files: dict[Path, None] = {}
    for place in places:
        if place.is_dir():
            mine = sorted(p for p in place.rglob("*") if _LOG.fullmatch(p.name) and p.is_file())
            if not mine:
                raise UsageError(
                    f"{place}: contains no broker log",
                    hint="expected server.log, controller.log, state-change.log or rotated ones; or give the files",
                )
            files |= dict.fromkeys(mine)
        elif place.exists():
            files[place] = None
        else:
            raise UsageError(f"{place}: no such file or folder")
    return tuple(files)


def labels(files: Sequence[Path]) -> dict[Path, str]:
    """Returns the shortest unique end of each path, since the log of every broker is named server.log."""
    named: dict[Path, str] = {}
    for file in files:
        parts = file.parts
        for n in range(1, len(parts) + 1):
            label = "/".join(parts[-n:])
            if sum("/".join(other.parts[-n:]) == label for other in files) == 1:
                break
        named[file] = label.lstrip("/")
    return named


def lines(path: Path, trouble: list[str]) -> Iterator[str]:
    """Yields lines without line ends, at most LONGEST characters long. Read errors are appended to `trouble`.

    Raises UsageError if the file cannot be opened.
    """
    try:
        with open_file(path) as raw:
            packed = raw.read(2) == _GZIP
            raw.seek(0)
            if packed:
                with gzip.open(raw) as unpacked:
                    yield from _text(unpacked, trouble, _MOST_UNPACKED)  # type: ignore[arg-type]
            else:
                yield from _text(raw, trouble)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        trouble.append("the gzip file is damaged or truncated; the part before was read")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {(error.strerror or '').lower()}") from None


def _text(raw: IO[bytes], trouble: list[str], most: float = math.inf) -> Iterator[str]:
    """Yields lines, of about `most` bytes in total."""
    while line := raw.readline(LONGEST):
        whole, most = line.endswith(b"\n"), most - len(line)
        yield line.decode("utf-8", "replace").rstrip("\r\n")
        while not whole and most > 0 and (rest := raw.readline(LONGEST)):
            whole, most = rest.endswith(b"\n"), most - len(rest)
        if most <= 0:
            trouble.append(f"its uncompressed size exceeds {_MOST_UNPACKED >> 30} GiB; the rest was not read")
            return
