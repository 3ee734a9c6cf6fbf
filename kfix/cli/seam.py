"""Where a command gets its clusters from: what the caller of the command line passed as `obj`, else live ones."""

from __future__ import annotations

import typer

from kfix.app.application import App


def the_app(ctx: typer.Context) -> App:
    return ctx.obj if isinstance(ctx.obj, App) else App.live()
