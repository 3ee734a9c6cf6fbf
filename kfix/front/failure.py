"""An error as JSON, `kfix.error/v1`: every command with `--json` prints it where it cannot print its own document."""

import re
from collections.abc import Container, Iterator, Sequence
from enum import Enum
from typing import Annotated, Final, Literal, NamedTuple

from kfix.core.declared import Pattern, Range
from kfix.core.documents.outputs import written
from kfix.core.harmless import for_json, one_line

#: The exit code of a monitoring plugin that could not find out.
NAGIOS_UNKNOWN: Final = 3


class Machine(Enum):
    """The program that reads standard output, if it is not a person; the values are those of `--format`."""

    NONE = ""
    JSON = "json"
    NAGIOS = "nagios"
    PROMETHEUS = "prometheus"
    SARIF = "sarif"
    JUNIT = "junit"


_SHORT: Final = {"--nagios": Machine.NAGIOS, "--json": Machine.JSON}
_WRITTEN: Final = re.compile(r"(?:--format|-o)(?P<equals>=)?(?P<value>.*)", re.DOTALL)


class WrittenFormat(NamedTuple):
    """A format on a command line: the arguments from `first` up to, without, `end`, and its name."""

    first: int
    end: int
    name: str


def options_in(args: Sequence[str], valued: Container[str] = ()) -> Iterator[int]:
    """Yields the places of arguments that may be options: not after `--`, and not the value of one in `valued`."""
    at = 0
    while at < len(args) and args[at] != "--":
        yield at
        at += 2 if args[at] in valued else 1


def formats_in(args: Sequence[str], valued: Container[str] = ()) -> Iterator[WrittenFormat]:
    """Yields each `-o NAME`, `-oNAME`, `--format NAME` and `--format=NAME`, with "" for a name that is missing."""
    for at in options_in(args, valued):
        found = _WRITTEN.fullmatch(args[at])
        if found is None or (args[at].startswith("--") and found["value"] and not found["equals"]):
            continue
        if found["value"] or found["equals"]:
            yield WrittenFormat(at, at + 1, found["value"])
        else:
            yield WrittenFormat(at, min(at + 2, len(args)), args[at + 1] if at + 1 < len(args) else "")


def machine_output(args: Sequence[str], valued: Container[str] = ()) -> Machine:
    """Returns which program reads the output of a command line, even if the line cannot be parsed.

    `valued` are the options of the command that have a value; without them such a value may be taken for an option.
    """
    words = {args[at] for at in options_in(args, valued)}
    for short, machine in _SHORT.items():
        if short in words:
            return machine
    values = {machine.value: machine for machine in Machine}
    named = [each.name for each in formats_in(args, valued)]
    return values.get(named[-1], Machine.NONE) if named else Machine.NONE


class FailureJson:
    """An error of a command with --json"""

    schema: Literal["kfix.error/v1"]
    exit_code: Annotated[int, Range(1, 255), "of the command (docs/exit-codes.md)"]
    error: Annotated[str, Pattern("."), "what failed, and where: a line, or several for several mistakes in a file"]
    hint: Annotated[str, 'how to continue, "" if there is none']


def failure_json(sentence: str, exit_code: int, hint: str = "") -> str:
    return for_json(written(FailureJson, exit_code=exit_code, error=sentence, hint=hint), indent=2)


def failure_line(sentence: str, hint: str = "") -> str:
    """Returns the line of a monitoring plugin; without performance data, since nothing was counted."""
    text = f"{sentence.rstrip('.')} ({hint})" if hint else sentence
    # The bar would begin performance data.
    return one_line("KFIX UNKNOWN - " + " ".join(text.split("\n")).replace("|", "/"))
