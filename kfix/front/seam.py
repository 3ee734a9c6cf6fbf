"""Returns the application behind a command: the one passed as `obj`, or the live one."""

from __future__ import annotations

import typer

from kfix.core.application import App


def the_app(ctx: typer.Context) -> App:
    return ctx.obj if isinstance(ctx.obj, App) else App.live()
