"""`kfix explain CODE`: the documentation page of a finding."""

from __future__ import annotations

from typing import Annotated

import typer

from kfix.core.fleetcase import FleetCheck
from kfix.core.harmless import lines
from kfix.diagnose.explain import find_page, page, pages
from kfix.front import completion
from kfix.front.terminal import say


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
        for check in pages():
            kind = " (audit)" if isinstance(check, FleetCheck) else " (latent risk)" if check.prevention else ""
            say(f"{check.code}  {check.slug:<24} {check.title}{kind}")
        return
    check = find_page(code)
    say(lines(*page(check).splitlines()))
    if isinstance(check, FleetCheck):
        say()
        say("Reported by `kfix audit` only: no single cluster shows it.")
    elif check.prevention:
        say()
        say("A latent risk: reported by `kfix audit` and by `kfix diagnose --prevention`.")
