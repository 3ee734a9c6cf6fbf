"""The manual page, docs/man/kfix.1, made from the help of the commands; KFIX_UPDATE_GOLDEN=1 with test_pages.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kfix import __version__
from kfix.shell.examples import EXAMPLES
from tests.catalogue.pages import commands, parameters, variables

_CODES = (
    ("0", "done and verified, healthy, or nothing to do"),
    ("2", "a wrong option or an invalid file; nothing was changed"),
    ("20, 21, 22", "warnings; critical findings; unknown, since something was not read"),
)


def man_page() -> str:
    """Returns the page in the macros of man(7)."""
    lines = [
        f'.TH KFIX 1 "" "kfix {__version__}"',
        ".SH NAME",
        r"kfix \- diagnose a faulty Kafka cluster, heal it behind gates, and prove that it is healed",
        ".SH SYNOPSIS",
        r".B kfix\fR [\fB\-c\fR \fINAME\fR] \fICOMMAND\fR [\fIOPTIONS\fR]",
        ".SH COMMANDS",
        *(line for words, command in commands() for line in _command(words, command)),
        ".SH ENVIRONMENT",
        *(line for name, text in variables().items() for line in (".TP", rf".B {_roff(name)}", _roff(text))),
        ".SH EXIT STATUS",
        *(line for code, text in _CODES for line in (".TP", f".B {code}", _roff(text))),
        "All codes: docs/exit\\-codes.md of the source.",
    ]
    return "\n".join([*lines, ""])


def _command(words: tuple[str, ...], command: Any) -> Iterator[str]:
    yield rf".SS {_roff(' '.join(words))}"
    for number, part in enumerate(command.help.strip().split("\n\n")):
        yield from (() if not number else (".PP",))
        yield _roff(" ".join(part.split()))
    for name, text in parameters(command):
        yield from (".TP", rf".B {_roff(name)}", _roff(text))
    yield from (".PP", ".nf", *(_roff(f"  kfix {line}") for line in EXAMPLES[" ".join(words[1:])]), ".fi")


def _roff(text: str) -> str:
    """Returns text for man(7): a backslash and a minus as such, and no line that begins with a request."""
    shown = text.replace("\\", "\\e").replace("`", "").replace("-", "\\-")
    return rf"\&{shown}" if shown.startswith((".", "'")) else shown
