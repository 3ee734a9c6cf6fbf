"""`kfix explain CODE`: the documentation page of a finding."""

from __future__ import annotations

from typing import Annotated

import typer

from kfix.app.explain import find_page, page, pages
from kfix.harmless import lines
from kfix.model.audit.fleetcase import FleetCheck
from kfix.report.terminal import say


def explain(
    code: Annotated[
        str | None, typer.Argument(help="A finding's code or name, such as KFX101; none lists all.")
    ] = None,
) -> None:
    """Explain a finding: what it means, why it matters, how kfix detects it, its remedies and what not to do."""
    if code is None:
        for check in pages():
            told = " (audit)" if isinstance(check, FleetCheck) else " (prevention)" if check.prevention else ""
            say(f"{check.code}  {check.slug:<24} {check.title}{told}")
        return
    check = find_page(code)
    say(lines(*page(check).splitlines()))
    if isinstance(check, FleetCheck):
        say()
        say("Told by `kfix audit` only: no single cluster shows it.")
    elif check.prevention:
        say()
        say("Prevention: told by the nightly audit, and by `kfix diagnose --prevention`.")
