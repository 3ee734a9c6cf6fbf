"""Ends the labs of a test process that dies: another process waits for the end of a pipe, which every death brings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def labs_below(folder: Path) -> Iterator[None]:
    """Labs whose home is at most two levels below the folder do not outlive this process."""
    command = [sys.executable, __file__, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as guard:
        yield
        guard.communicate()


def _end_labs(folder: Path) -> None:
    states = [found for depth in ("*", "*/*", "*/*/*") for found in folder.glob(f"{depth}/lab.json")]
    for home in {state.parent.parent for state in states}:
        down = [sys.executable, "-m", "kfix", "lab", "down", "--all"]
        subprocess.run(down, env=os.environ | {"KFIX_LAB_HOME": str(home)}, check=False, capture_output=True)


if __name__ == "__main__":
    sys.stdin.read()
    _end_labs(Path(sys.argv[1]))
