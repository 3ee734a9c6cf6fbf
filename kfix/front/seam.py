"""The application behind a command: the caller passes an `App`, or a function that makes one, as `obj`."""

import typer

from kfix.core.application import App


def the_app(ctx: typer.Context) -> App:
    return ctx.obj if isinstance(ctx.obj, App) else ctx.obj()
