"""A fake reader for the tests of collecting, in a module of its own: a new process imports it by name."""

import os
import signal
import time
from pathlib import Path

from kfix.core.errors import UnreachableError, UsageError
from tests.unit.diagnostics.clusters import base

#: The variable with the folder in which each call is recorded.
ASKED = "KFIX_TEST_ASKED"


def take(entry):
    """Behaves by name: `well-3`, `dead-3`, `bug-3`, `odd-3`, `slow-3` (past its deadline), `kill-3` (its process)."""
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
