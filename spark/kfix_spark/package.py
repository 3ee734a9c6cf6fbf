"""Packs kfix into one zip for the executors, so that they run the driver's code, whatever is installed there.

`python -m kfix_spark.package kfix.zip` makes it for `spark-submit --py-files`. It has Python code only: pyarrow must be
installed on the executors.
"""

import sys
import zipfile
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from kfix.core.errors import UsageError

PACKAGES: Final = ("kfix", "kfix_diagnostics", "kfix_spark")
#: A fixed timestamp, so that the same code gives the same bytes.
_WHEN: Final = (1980, 1, 1, 0, 0, 0)


def make_package(path: Path) -> Path:
    """Writes the zip. Raises UsageError if it cannot be written."""
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
            for name, raw in _entries():
                out.writestr(zipfile.ZipInfo(name, _WHEN), raw, zipfile.ZIP_DEFLATED)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
    return path


def _entries() -> Iterator[tuple[str, bytes]]:
    for package in PACKAGES:
        yield from _below(resources.files(package), package)
    if not resources.files("kfix").joinpath("_runbooks").is_dir():
        # In a checkout the runbooks are next to the package; in an installed one they are inside.
        runbooks = Path(__file__).resolve().parents[2] / "runbooks"
        if runbooks.is_dir():
            yield from _below(runbooks, "kfix/_runbooks")


def _below(folder: Traversable, said: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _below(entry, f"{said}/{entry.name}")
        elif not entry.name.endswith(".pyc"):
            yield f"{said}/{entry.name}", entry.read_bytes()


def main() -> None:
    if len(sys.argv) != 2 or not sys.argv[1].endswith(".zip"):
        raise SystemExit("usage: python -m kfix_spark.package PATH.zip")
    try:
        make_package(Path(sys.argv[1]))
    except UsageError as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
