"""Checks output files before any work, so that a missing folder is found at once."""

from collections.abc import Iterable
from pathlib import Path

from kfix.core.errors import UsageError


def check_outputs(named: Iterable[str | None], *, json: bool) -> None:
    """Checks the outputs: None is not requested, "-" is standard output. Raises UsageError."""
    files = [f for f in named if f is not None]
    if files.count("-") + json > 1:
        raise UsageError("standard output takes only one of --json and the outputs that are '-'")
    real = [f for f in files if f != "-"]
    if len({str(Path(f).absolute()) for f in real}) < len(real):
        raise UsageError("two outputs have the same file")
    for file in real:
        if file and Path(file).is_dir():
            raise UsageError(f"{file}: is a folder; give a file in it")
    for file in files:
        if not file or (file != "-" and not Path(file).absolute().parent.is_dir()):
            raise UsageError(f"{file or 'an output'}: no such folder", hint="create it first, or use -")


def require_plain_file(path: str) -> None:
    """Checks the one output of a command, which is replaced as a whole. Raises UsageError."""
    check_outputs([path], json=False)
    place = Path(path)
    if place.exists() and not place.is_file():
        raise UsageError(f"{path}: is not a plain file", hint="leave out --output-file to print on standard output")
