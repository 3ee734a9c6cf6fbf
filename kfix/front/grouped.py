"""Options that several commands share: fields of a dataclass declare them, and a command takes them as one value."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_origin, get_type_hints

import typer

_CONTEXT = "ctx"


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of each parameter whose type is a dataclass: its fields with `Annotated` types.

    A field `ctx` is typer's context. Another command calls it with its own value of that parameter.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {}
    parameters = {_CONTEXT: _parameter(_CONTEXT, typer.Context)}
    for name, each in signature.parameters.items():
        if is_dataclass(each.annotation):
            groups[name] = each.annotation
            parameters |= _options(each.annotation)
        else:
            parameters[name] = each.replace(kind=inspect.Parameter.KEYWORD_ONLY)

    @wraps(command)
    def call(ctx: typer.Context, **given: Any) -> None:
        for name, kind in groups.items():
            if name not in given:
                context = {_CONTEXT: ctx} if _CONTEXT in kind.__dataclass_fields__ else {}
                given[name] = kind(**context, **{each: given.pop(each) for each in _options(kind) if each in given})
        command(**({_CONTEXT: ctx} if _CONTEXT in signature.parameters else {}), **given)

    call.__annotations__ = {name: each.annotation for name, each in parameters.items()}
    call.__signature__ = signature.replace(parameters=[*parameters.values()])  # type: ignore[attr-defined]
    return call


def _options(group: Any) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    options = (each for each in fields(group) if get_origin(hints[each.name]) is Annotated)
    return {each.name: _parameter(each.name, hints[each.name], each.default) for each in options}


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
