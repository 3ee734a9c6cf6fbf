"""kfix, which stops a process (SIGSTOP) once a record is in its journal: `frozen.py PID POINT WORDS...`.

A point is TYPE:STEP, as in killed.py. So a controller freezes after everything was checked and before the call.
"""

import os
import signal
import sys

from kfix.__main__ import main
from kfix.runbook.journal.journal import Journal

pid, point = int(sys.argv.pop(1)), sys.argv.pop(1)
type_, _, step = point.partition(":")
write = Journal.write


def write_and_freeze(journal, kind, **fields):
    write(journal, kind, **fields)
    if kind == type_ and str(fields.get("step", "")).startswith(step):
        os.kill(pid, signal.SIGSTOP)


Journal.write = write_and_freeze  # type: ignore[method-assign, assignment]
main()
