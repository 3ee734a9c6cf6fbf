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
            typer.echo(f"{check.code}  {check.slug:<24} {check.title}")
        return
    typer.echo(page(find(code)))
