"""`kfix explain CODE`: the documentation page of a finding."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from kfix.core.fleetcase import FleetCheck
from kfix.front import completion
from kfix.front.lines import Line, print_lines
from kfix.front.plain import PlainConsole
from kfix.front.terminal import say
from kfix_diagnostics.catalogue import find_page, pages


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            help="Code or name of a finding, such as KFX101; without it, list all.", autocompletion=completion.codes
        ),
    ] = None,
) -> None:
    """Explain a finding: why it matters, how kfix knows, the remedies, and what not to do."""
    if code is None:
        width = max(len(check.slug) for check in pages())
        for check in pages():
            kind = " (audit)" if isinstance(check, FleetCheck) else " (latent risk)" if check.prevention else ""
            say(f"{check.code}  {check.slug:<{width}} {check.title}{kind}")
        return
    check = find_page(code)
    print_lines(_lines(check.page), PlainConsole(sys.stdout))
    if isinstance(check, FleetCheck):
        say()
        say("Reported by `kfix audit` only: no single cluster shows it.")
    elif check.prevention:
        say()
        say("A latent risk: reported by `kfix audit` and by `kfix diagnose --prevention`.")


def _lines(text: str) -> Iterator[Line]:
    """Yields a page: each indented paragraph is one line, which wraps at the width of the terminal."""
    for number, block in enumerate(text.split("\n\n")):
        if number:
            yield Line("")
        rows = block.splitlines()
        yield from (Line(row) for row in rows if not row.startswith(" "))
        if body := " ".join(row.strip() for row in rows if row.startswith(" ")):
            yield Line(body, indent=4)
