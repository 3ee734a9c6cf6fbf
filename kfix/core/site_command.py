"""The command of a site that restarts a node: a template of an inventory, run without a shell."""

import os
import shlex
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from kfix.core.harmless import one_line

NODE: Final = "{node}"
_ROLE: Final = "{role}"
_VERSION: Final = "{version}"
_LAST_BYTES: Final = 2000


class CommandEnd(NamedTuple):
    """How a command ended. `code` is None if it did not end in time, and `said` the last line of its output."""

    code: int | None
    said: str


def command_words(template: str, role: str, node: int, version: str = "") -> list[str]:
    """Returns program and arguments; `version` is that of an upgrade.

    Raises ValueError for a template with an open quote or without `{node}`.
    """
    words = shlex.split(template)
    if not any(NODE in word for word in words[1:]):
        raise ValueError(f"{template!r} has no {NODE} among its arguments")
    return [word.replace(NODE, str(node)).replace(_ROLE, role).replace(_VERSION, version) for word in words]


def is_running(words: list[str]) -> bool:
    """Returns whether a process of this host carries out this command, such as one whose kfix was killed.

    A script stands in its command line behind the program that reads it, and with its whole path.
    """
    wanted = [Path(words[0]).name, *words[1:]]
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found = file.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1][-len(wanted) :]
            if found and [Path(found[0]).name, *found[1:]] == wanted:
                return True
    return False


def carry_out(words: list[str], seconds: float) -> CommandEnd:
    """Runs a command apart from the terminal, so that neither Ctrl-C nor the end of kfix stops it half-way.

    One that takes longer than `seconds` is ended. Raises OSError if it cannot be started.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        code: int | None
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
        output.seek(0, os.SEEK_END)
        output.seek(max(0, output.tell() - _LAST_BYTES))
        lines = output.read().decode("utf-8", "replace").strip().splitlines()
    return CommandEnd(code, one_line(lines[-1]) if lines else "")
