"""The document of a command: who reads it, and where it goes, also if the command fails (`kfix.shell.failing`)."""

from dataclasses import dataclass
from typing import Final

from kfix.front.failure import Machine

#: The key of a context's `meta` under which the boundary keeps the `OutputDocument`.
DOCUMENT: Final = "kfix.document"


@dataclass(slots=True)
class OutputDocument:
    """The document of a command: the program that reads it, and its file (None: standard output).

    `cluster` is that program's name for the cluster. `done` is true once the document is written.
    """

    machine: Machine = Machine.NONE
    output: str | None = None
    cluster: str = ""
    done: bool = False
