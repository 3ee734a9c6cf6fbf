"""kfix, killed by SIGKILL at a record of its journal: `killed.py POINT WORDS...`; a point is TYPE or TYPE:STEP.

`-TYPE` dies before that record is written, `TYPE` once it is on the disk, `#N` once N records are. One point dies once.
"""

import os
import signal
import sys

from kfix.__main__ import main
from kfix.runbook.journal.journal import Journal

point = sys.argv.pop(1)
early, wanted = point.startswith("-"), point.lstrip("-")
write = Journal.write


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def is_it(journal, kind, fields):
    if wanted.startswith("#"):
        return journal._seq == int(wanted[1:])
    type_, _, step = wanted.partition(":")
    where = str(fields.get("step", fields.get("part", "")))
    return kind == type_ and where.startswith(step)


def write_and_die(journal, kind, **fields):
    if early and is_it(journal, kind, fields):
        die()
    write(journal, kind, **fields)
    if not early and is_it(journal, kind, fields):
        die()


Journal.write = write_and_die  # type: ignore[method-assign, assignment]
main()
