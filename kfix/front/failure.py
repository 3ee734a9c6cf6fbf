"""An error as JSON, `kfix.error/v1`: every command with `--json` prints it where it cannot print its own document."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import Annotated, Final, Literal

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
_FORMAT: Final = ("--format", "-o")


def machine_output(args: Sequence[str]) -> Machine:
    """Returns which program reads the output of a command line, even if the line cannot be parsed."""
    options = args[: args.index("--")] if "--" in args else args
    for short, machine in _SHORT.items():
        if short in options:
            return machine
    values = {machine.value: machine for machine in Machine}
    named = [after for option, after in pairwise(options) if option in _FORMAT]
    named += [option.partition("=")[2] for option in options if option.startswith(tuple(f"{f}=" for f in _FORMAT))]
    named += [option[2:] for option in options if option.startswith("-o") and "=" not in option]
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
