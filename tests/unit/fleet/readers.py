"""Looks for the tests of collecting, in a module of its own: a new process finds them by name."""

import os
import signal
import time
from pathlib import Path

from kfix.errors import UnreachableError, UsageError
from tests.unit.diagnostics.clusters import base

#: Where looks say that they were asked; a folder, for processes.
ASKED = "KFIX_TEST_ASKED"


def look(entry):
    """By the name: `well-3`, `dead-3`, `bug-3`, `odd-3`, `slow-3` (hangs past its deadline), `kill-3` (its process)."""
    if folder := os.environ.get(ASKED):
        with (Path(folder) / entry.name).open("a") as file:
            file.write("x")
    match entry.name.partition("-")[0]:
        case "dead":
            raise UnreachableError("the cluster cannot be reached: h:1: connection refused")
        case "odd":
            raise UsageError("one line\nand another")
        case "bug":
            raise RuntimeError("a bug\nof two lines")
        case "slow":
            time.sleep(entry.timeout + 2.5)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
    return base().snapshot()
