"""`kfix explain CODE`: the documentation page of a finding."""

from __future__ import annotations

from typing import Annotated

import typer


def explain(
    code: Annotated[
        str | None, typer.Argument(help="A finding's code or name, such as KFX101; none lists all.")
    ] = None,
) -> None:
    """Explain a finding: what it is, why it matters, how kfix knows, what helps, what must not be done."""
    from kfix_diagnostics import ALL
    from kfix_diagnostics.catalogue import find, page

    if code is None:
        for check in ALL:
            typer.echo(f"{check.code}  {check.slug:<24} {check.title}{' (prevention)' if check.prevention else ''}")
        return
    check = find(code)
    typer.echo(page(check))
    if check.prevention:
        typer.echo("\nPrevention: told by the nightly audit, and by `kfix diagnose --prevention`.")
