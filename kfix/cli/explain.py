"""`kfix explain CODE`: the documentation page of a finding."""

from __future__ import annotations

from typing import Annotated

import typer

from kfix.app.explain import find_page, page, pages
from kfix.model.fleetcase import FleetCheck


def explain(
    code: Annotated[
        str | None, typer.Argument(help="A finding's code or name, such as KFX101; none lists all.")
    ] = None,
) -> None:
    """Explain a finding: what it is, why it matters, how kfix knows, what helps, what must not be done."""
    if code is None:
        for check in pages():
            told = " (audit)" if isinstance(check, FleetCheck) else " (prevention)" if check.prevention else ""
            typer.echo(f"{check.code}  {check.slug:<24} {check.title}{told}")
        return
    check = find_page(code)
    typer.echo(page(check))
    if isinstance(check, FleetCheck):
        typer.echo("\nTold by `kfix audit` only: no single cluster shows it.")
    elif check.prevention:
        typer.echo("\nPrevention: told by the nightly audit, and by `kfix diagnose --prevention`.")
