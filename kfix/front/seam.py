"""The application behind a command: what the caller passed as `obj`, an `App` or what makes one."""

from __future__ import annotations

import typer

from kfix.core.application import App


def the_app(ctx: typer.Context) -> App:
    return ctx.obj if isinstance(ctx.obj, App) else ctx.obj()
