"""What the shell offers for names: contexts, codes, runbooks, runs, incidents, topics and groups.

A word is offered only if a shell reads it as it is: names of groups come from a cluster, and anybody may choose them.
No error is shown, since it would stand in the line that a person is typing.
"""

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Final

import typer

from kfix.core.application import App

_MOST: Final = 500
_WORDS: Final = "kfix.shell.completion"


def contexts(ctx: typer.Context, incomplete: str) -> list[str]:
    return _offered(lambda known: known.context_names(_environ(ctx)), incomplete)


def codes(incomplete: str) -> list[str]:
    """Completes the last of several codes with commas between them."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{code}" for code in _offered(lambda known: known.codes(), last.upper())]


def runbooks(ctx: typer.Context, incomplete: str) -> list[str]:
    return _offered(lambda known: known.runbooks(_environ(ctx)), incomplete)


def runs(ctx: typer.Context, incomplete: str) -> list[str]:
    return _offered(lambda known: known.runs(_environ(ctx)), incomplete)


def incidents(incomplete: str) -> list[str]:
    return _offered(lambda known: known.incidents(), incomplete)


def topics(ctx: typer.Context, incomplete: str) -> list[str]:
    return _offered(lambda known: known.topics(_environ(ctx), _cluster(ctx)), incomplete)


def groups(ctx: typer.Context, incomplete: str) -> list[str]:
    return _offered(lambda known: known.groups(_environ(ctx), _cluster(ctx)), incomplete)


def _environ(ctx: typer.Context) -> Mapping[str, str]:
    # Not `the_app`: it loads what only a live cluster needs.
    return ctx.obj.environ if isinstance(ctx.obj, App) else os.environ


def _cluster(ctx: typer.Context) -> str:
    """Returns the cluster's name: from the line before or after the command, or from KFIX_CLUSTER."""
    return str(ctx.params.get("cluster") or ctx.find_root().params.get("cluster") or "")


def _offered(known: Callable[[Any], Iterable[str]], incomplete: str) -> list[str]:
    try:
        words = known(import_module(_WORDS))
        return [word for word in words if word.startswith(incomplete) and shlex.quote(word) == word][:_MOST]
    except Exception:  # noqa: BLE001 - whatever is wrong, the command itself reports it; here a person is typing
        return []
