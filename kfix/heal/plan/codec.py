"""Dataclasses into plain JSON values and back, by their own annotations. A missing or surplus field is an error."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum, IntEnum
from functools import cache
from types import UnionType
from typing import Any

from kfix.core.args import Args, ArgValue, parse_partition
from kfix.core.documents.shown import short, shown
from kfix.core.snapshot.snapshot import TopicPartition

_WORDS: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def to_plain(value: object) -> Any:  # noqa: PLR0911 - one return a kind
    if isinstance(value, TopicPartition):
        return str(value)
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if dataclasses.is_dataclass(value):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, tuple | frozenset):
        return [to_plain(v) for v in value]
    return value


def from_plain(wanted: Any, value: Any, where: str) -> Any:  # noqa: PLR0911 - one return a kind
    """ValueError names the field that is not what it should be."""
    if wanted is TopicPartition:
        return parse_partition(_a(str, value, where))
    if wanted is Args:
        return Args({k: from_plain(ArgValue, v, f"{where}.{k}") for k, v in _a(dict, value, where).items()})
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return _enum(wanted, value, where)
    if isinstance(wanted, type) and dataclasses.is_dataclass(wanted):
        return _dataclass(wanted, _a(dict, value, where), where)
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin is tuple:
        return tuple(from_plain(inner[0], v, f"{where}[{i}]") for i, v in enumerate(_a(list, value, where)))
    if origin is Mapping or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return {k: from_plain(inner[1], v, f"{where}.{k}") for k, v in _a(dict, value, where).items()}
    if origin in (typing.Union, UnionType):
        return _one_of(inner, value, where)
    if wanted is type(None) and value is None:
        return None
    return _a(wanted, value, where)


def _dataclass(wanted: type, value: dict[str, Any], where: str) -> Any:
    hints = _hints(wanted)
    names = {f.name for f in dataclasses.fields(wanted)}
    odd = sorted(names ^ value.keys())
    if odd:
        raise ValueError(f"{where}: {'lacks' if odd[0] in names else 'has the unknown field'} {short(odd[0])}")
    return wanted(**{name: from_plain(hints[name], value[name], f"{where}.{name}") for name in value})


@cache
def _hints(wanted: type) -> Mapping[str, Any]:
    """A plan holds thousands of small records of a dozen kinds."""
    return typing.get_type_hints(wanted)


def _one_of(wanted: tuple[Any, ...], value: Any, where: str) -> Any:
    for kind in wanted:
        # A whole number would pass for a float of equal value and be written back as another text.
        if kind is float and type(value) is int and int in wanted:
            continue
        with suppress(ValueError):
            return from_plain(kind, value, where)
    raise ValueError(f"{where}: {shown(value)} is none of what it may be")


def _enum(wanted: type[Enum], value: Any, where: str) -> Enum:
    for member in wanted:
        if to_plain(member) == value:
            return member
    raise ValueError(f"{where}: {shown(value)} is no {wanted.__name__.lower()}")


def _a(wanted: type, value: Any, where: str) -> Any:
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise ValueError(f"{where}: wanted {_WORDS[wanted]}, not {shown(value)}")
    return value
