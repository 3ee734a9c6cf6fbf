"""kfix, killed by SIGKILL at a record of its journal: `killed.py POINT WORDS...`; a point is TYPE or TYPE:STEP.

`-TYPE` dies before that record is written, `TYPE` once it is on the disk, and `new` at the first record of whose type
and step the journal has none. One point dies once.
"""

import json
import os
import signal
import sys
from pathlib import Path

from kfix.__main__ import main
from kfix.heal.journal.journal import Journal

point = sys.argv.pop(1)
early, wanted = point.startswith("-"), point.lstrip("-")
write = Journal.write


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def where_of(fields):
    return str(fields.get("step", fields.get("part", "")))


def is_new(journal, kind, fields):
    """Whether the journal has no record of this type for this step before the one with these fields."""
    lines = Path(f"/proc/self/fd/{journal._file.fileno()}").read_bytes().splitlines()
    known = [json.loads(line) for line in lines[: journal._seq - (not early)]]
    return (kind, where_of(fields)) not in {(record["type"], where_of(record)) for record in known}


def is_it(journal, kind, fields):
    if wanted == "new":
        return is_new(journal, kind, fields)
    type_, _, step = wanted.partition(":")
    return kind == type_ and where_of(fields).startswith(step)


def write_and_die(journal, kind, **fields):
    if early and is_it(journal, kind, fields):
        die()
    write(journal, kind, **fields)
    if not early and is_it(journal, kind, fields):
        die()


Journal.write = write_and_die  # type: ignore[method-assign, assignment]
main()
