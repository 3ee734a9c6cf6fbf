"""Parses the parameters of a runbook, as given on the command line."""

from __future__ import annotations

from collections.abc import Iterable

from kfix.core.args import ArgKind, Args, ArgValue, coerce
from kfix.core.documents.problems import unknown
from kfix.core.errors import RefusedError, UsageError
from kfix.heal.model.runbook import Param, Runbook


def parse_params(runbook: Runbook, assignments: Iterable[str]) -> Args:
    """Returns the given parameters over the defaults.

    Raises UsageError for an unknown or missing parameter, and for a value of the wrong type or out of bounds.
    """
    found: dict[str, ArgValue] = {name: p.default for name, p in runbook.params.items() if p.default is not None}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--param {text!r} is not NAME=VALUE")
        if name not in runbook.params:
            what = unknown("parameter", name, runbook.params) if runbook.params else "it has no parameters"
            raise UsageError(f"{runbook.id}: {what}")
        try:
            found[name] = _of_kind(runbook.params[name].kind, value)
            _within(runbook.params[name], found[name])
        except ValueError as error:
            raise UsageError(f"--param {name}: {error}") from error
    missing = [name for name in runbook.params if name not in found]
    if missing:
        text = f"{runbook.id} needs the parameter {missing[0]!r}: {runbook.params[missing[0]].help}"
        raise UsageError(text, hint=f"-p {missing[0]}=VALUE")
    return Args(found)


def _of_kind(kind: ArgKind, text: str) -> ArgValue:
    if kind in {ArgKind.INT, ArgKind.BROKER} and text.lstrip("-").isdecimal() and text.isascii():
        return coerce(kind, int(text))
    if kind is ArgKind.BOOL and text in ("true", "false"):
        return text == "true"
    return coerce(kind, text)


def _within(param: Param, value: ArgValue) -> None:
    if param.choices and value not in param.choices:
        raise ValueError(f"{value!r} is not one of {', '.join(map(str, param.choices))}")
    for bound, word in ((param.low, "least"), (param.high, "most")):
        if isinstance(bound, int | float) and isinstance(value, int | float):
            bad = value < bound if word == "least" else value > bound
            if bad:
                raise ValueError(f"{value} is out of bounds: at {word} {bound}")


def complete(runbook: Runbook, params: Args | None) -> Args:
    """Returns the given parameters over the defaults. Raises RefusedError if one without a default is missing."""
    found = {name: p.default for name, p in runbook.params.items() if p.default is not None} | dict(params or {})
    missing = [name for name in runbook.params if name not in found]
    if missing:
        raise RefusedError(f"{runbook.id} needs the parameter {missing[0]!r}", hint=f"-p {missing[0]}=VALUE")
    return Args(found)
