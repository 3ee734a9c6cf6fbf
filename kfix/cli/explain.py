"""`kfix explain CODE`: the documentation page of a finding."""

from __future__ import annotations

from typing import Annotated

import typer

from kfix.errors import UsageError


def explain(
    code: Annotated[str | None, typer.Argument(help="A finding's code, such as KFX101; none lists all.")] = None,
) -> None:
    """Explain a finding: what it is, why it matters, how kfix knows, what helps, what must not be done."""
    from kfix_diagnostics import pages

    if code is None:
        for page in pages.ALL:
            typer.echo(f"{page.code}  {page.slug:<28} {page.title}")
        return
    found = pages.find(code)
    if found is None:
        near = pages.nearest(code)
        raise UsageError(f"unknown code {code!r}" + (f", did you mean {near}?" if near else ""), hint="kfix explain")
    typer.echo(found.text)
