"""Parameters of a runbook as the command line gives them."""

from __future__ import annotations

from collections.abc import Iterable

from kfix.errors import UsageError
from kfix.model.args import Args, ArgValue, Kind, coerce
from kfix.model.runbook import Runbook
from kfix.runbook.problems import unknown


def parse_params(runbook: Runbook, given: Iterable[str]) -> Args:
    """Defaults, and over them what was given. Every value has the kind the runbook declares."""
    found: dict[str, ArgValue] = {name: p.default for name, p in runbook.params.items()}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--param {text!r} is not NAME=VALUE")
        if name not in runbook.params:
            what = unknown("parameter", name, runbook.params) if runbook.params else "it has no parameters"
            raise UsageError(f"{runbook.id}: {what}")
        try:
            found[name] = _of_kind(runbook.params[name].kind, value)
        except ValueError as error:
            raise UsageError(f"--param {name}: {error}") from error
    return Args(found)


def _of_kind(kind: Kind, text: str) -> ArgValue:
    if kind is Kind.INT and text.lstrip("-").isdecimal():
        return int(text)
    if kind is Kind.BOOL and text in ("true", "false"):
        return text == "true"
    return coerce(kind, text)
