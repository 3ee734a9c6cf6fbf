"""Files that a command writes: checked before any work, so that a folder that is not there costs nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kfix.errors import UsageError


def check_outputs(named: Iterable[str | None], *, json: bool) -> None:
    """None: not asked for; "-": standard output, which takes one output. UsageError, one line."""
    files = [f for f in named if f is not None]
    if files.count("-") + json > 1:
        raise UsageError("standard output takes one of --json and the outputs that are '-'")
    real = [f for f in files if f != "-"]
    if len({str(Path(f).absolute()) for f in real}) < len(real):
        raise UsageError("two outputs have one file: the later would replace the earlier")
    for file in real:
        if file and Path(file).is_dir():
            raise UsageError(f"{file}: is a folder; name a file in it")
    for file in files:
        if not file or (file != "-" and not Path(file).absolute().parent.is_dir()):
            raise UsageError(f"{file or 'an output'}: there is no such folder", hint="make it first, or use -")
