"""Any value of a declared type, as a file may hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from hypothesis import strategies as st

from kfix.core.declared import Int64, Range
from kfix.core.documents.declared import stored_fields

_PLAIN: Mapping[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    str: st.text(max_size=3),
    float: st.floats(allow_nan=False, allow_infinity=False),
    type(None): st.none(),
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - one return a kind
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = next((mark for mark in args[1:] if isinstance(mark, Range)), None)
        return values_of(args[0]) if bounds is None else _numbers(args[0], bounds)
    if origin in {Union, UnionType}:
        return st.one_of(*map(values_of, args))
    if origin is Mapping:
        return st.dictionaries(values_of(args[0]), values_of(args[1]), max_size=2)
    if origin is tuple and args[-1] is not ...:
        return st.tuples(*map(values_of, args))
    if origin is tuple:
        return st.lists(values_of(args[0]), max_size=2).map(tuple)
    if origin is frozenset:
        return st.frozensets(values_of(args[0]), max_size=2)
    if is_dataclass(hint) or issubclass(hint, tuple):
        return st.builds(hint, **{name: values_of(each) for name, each in stored_fields(hint).items()})
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    return values_of(Int64) if hint is int else _PLAIN[hint]


def _numbers(kind: type, bounds: Range) -> st.SearchStrategy[Any]:
    numbers = st.integers if kind is int else st.floats
    return numbers(bounds.least, bounds.greatest)  # type: ignore[arg-type]
