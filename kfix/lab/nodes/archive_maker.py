"""The process that makes a class data archive: `python -m kfix.lab.nodes.archive_maker STEM COMMAND...`.

`COMMAND` is Java with all flags but the archive's name. Any number may be started, and killed at any moment: one works
at a time, and an archive gets its name once it is whole.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kfix.core.private import FILE_MODE
from kfix.lab.nodes.class_archive import find, with_size

_LOWEST_PRIORITY = 19


def main(stem: Path, command: Sequence[str]) -> int:
    """Returns Java's exit code; 0 if the archive is there, or another process is making it."""
    os.nice(_LOWEST_PRIORITY)
    lock = os.open(stem.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 0
    if find(stem) is not None:
        return 0
    # A fixed name: what a killed process left is written over.
    made = stem.with_suffix(".tmp")
    code = subprocess.run([*command, f"-XX:SharedArchiveFile={made}"], check=False).returncode
    if code == 0:
        made.replace(with_size(stem, made.stat().st_size))
    else:
        made.unlink(missing_ok=True)
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
