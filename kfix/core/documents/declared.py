"""JSON of declared types: the annotations of a dataclass or a NamedTuple alone define its JSON.

A dataclass is an object, a NamedTuple a list, a mapping by partition `{topic: {partition: value}}`, any other mapping
an object, and a set a sorted list. A field that is missing has its default. Fields that a reader does not know are
ignored, so that a field may be added. The bounds of numbers are in `core/declared.py`.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from inspect import cleandoc
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, UnsetType

from kfix.core.declared import FieldMark, Int32, Int64, Range
from kfix.core.documents.checked import read_json
from kfix.core.snapshot.naming import TopicPartition

T = TypeVar("T")
_Change = Callable[[Any], Any]


class JsonShape(NamedTuple):
    """A declared type in JSON.

    msgspec decodes `wire`, `load` converts that to the declared value, and `dump` converts it to JSON types; None: both
    are the same.
    """

    wire: Any
    load: _Change | None = None
    dump: _Change | None = None


def loaded(kind: type[T], raw: str | bytes) -> T:
    """Returns a value of a dataclass from JSON. Raises NotJsonError or ShapeError."""
    hint: Any = kind
    shape = shape_of(hint)
    value: T = _changed(shape.load, read_json(raw, shape.wire))
    return value


def dumped(value: Any) -> Any:
    hint: Any = type(value)
    return _changed(shape_of(hint).dump, value)


def schema_of(kind: type) -> dict[str, Any]:
    hint: Any = kind
    return msgspec.json.schema(shape_of(hint).wire)


def stored_fields(kind: type) -> dict[str, Any]:
    """Returns {field: its declared type} of the fields of a dataclass or NamedTuple that a file has."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if FieldMark.UNSTORED not in getattr(hint, "__metadata__", ())}


@cache
def shape_of(hint: Any) -> JsonShape:  # noqa: PLR0911 - one return a kind
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(args[0], args[1:])
    if origin in {Union, UnionType}:
        return _optional(hint)
    if origin is Mapping:
        return _by_partition(args[1]) if args[0] is TopicPartition else _mapping(*args)
    if origin is tuple:
        return _list(args)
    if origin is frozenset:
        return JsonShape(frozenset[shape_of(args[0]).wire], None, sorted)  # type: ignore[misc] # made of a declaration
    if is_dataclass(hint):
        return _object(hint)
    if isinstance(hint, type) and issubclass(hint, tuple):
        return _row(hint)
    return shape_of(Int64) if hint is int else JsonShape(hint)


def _changed(change: _Change | None, value: Any) -> Any:
    return value if change is None else change(value)


def _annotated(base: Any, marks: tuple[Any, ...]) -> JsonShape:
    bounds = next((Meta(ge=mark.least, le=mark.greatest) for mark in marks if isinstance(mark, Range)), None)
    if bounds is not None:
        return JsonShape(Annotated[base, bounds])
    shape = shape_of(base)
    return _alternatives(shape, shape_of(Int32).wire, int) if FieldMark.SHARED in marks else shape


def _optional(hint: Any) -> JsonShape:
    [base] = (each for each in get_args(hint) if each is not type(None))
    return _alternatives(shape_of(base), None, type(None))


def _alternatives(shape: JsonShape, other: Any, kind: type) -> JsonShape:
    """Returns the shape of a value that may instead be a `kind`, which JSON has unchanged."""

    def unless(change: _Change | None) -> _Change | None:
        return None if change is None else lambda value: value if isinstance(value, kind) else change(value)

    return JsonShape(Union[shape.wire, other], unless(shape.load), unless(shape.dump))  # noqa: UP007 - made at run time


def _list(args: tuple[Any, ...]) -> JsonShape:
    if args[-1] is not ...:
        return JsonShape(tuple[tuple(shape_of(each).wire for each in args)])  # type: ignore[misc]
    item = shape_of(args[0])

    def each(change: _Change | None) -> _Change | None:
        return None if change is None else lambda values: tuple(map(change, values))

    return JsonShape(tuple[item.wire, ...], each(item.load), each(item.dump))  # type: ignore[name-defined]


def _mapping(key: Any, value: Any) -> JsonShape:
    item = shape_of(value)

    def load(raw: Mapping[Any, Any]) -> Any:
        return {k: _changed(item.load, v) for k, v in raw.items()}

    def dump(values: Mapping[Any, Any]) -> Any:
        return {str(k): _changed(item.dump, v) for k, v in values.items()}

    return JsonShape(dict[shape_of(key).wire, item.wire], load if item.load else None, dump)  # type: ignore[misc]


def _by_partition(value: Any) -> JsonShape:
    item = shape_of(value)

    def load(raw: Mapping[str, Mapping[int, Any]]) -> Any:
        found = ((TopicPartition(topic, p), v) for topic, rows in raw.items() for p, v in rows.items())
        return dict(found) if item.load is None else {tp: item.load(v) for tp, v in found}

    def dump(values: Mapping[TopicPartition, Any]) -> Any:
        found: dict[str, dict[str, Any]] = {}
        for tp, v in values.items():
            found.setdefault(tp.topic, {})[str(tp.partition)] = v if item.dump is None else item.dump(v)
        return found

    return JsonShape(dict[str, dict[shape_of(Int32).wire, item.wire]], load, dump)  # type: ignore[misc]


def _row(kind: Any) -> JsonShape:
    """Returns the shape of a NamedTuple; the last values of a row may be missing if they have defaults."""
    shapes = {name: shape_of(hint) for name, hint in stored_fields(kind).items()}
    make: Any = namedtuple  # noqa: PYI024 - made at run time
    wire = make(kind.__name__, shapes, defaults=kind._field_defaults.values())
    wire.__annotations__ = {name: shape.wire for name, shape in shapes.items()}
    wire.__doc__ = cleandoc(kind.__doc__)
    loads, dumps = [shape.load for shape in shapes.values()], [shape.dump for shape in shapes.values()]
    load = (lambda row: kind(*map(_changed, loads, row))) if any(loads) else kind._make
    return JsonShape(wire, load, (lambda row: tuple(map(_changed, dumps, row))) if any(dumps) else None)


def _object(kind: Any) -> JsonShape:
    shapes = {name: shape_of(hint) for name, hint in stored_fields(kind).items()}
    wire = msgspec.defstruct(kind.__name__, _wire_fields(kind, shapes), namespace={"__doc__": cleandoc(kind.__doc__)})
    items = [(name, shape.load, shape.dump) for name, shape in shapes.items()]

    def load(raw: Any) -> Any:
        read = ((name, change, getattr(raw, name)) for name, change, _ in items)
        return kind(**{name: _changed(change, value) for name, change, value in read if value is not UNSET})

    def dump(value: Any) -> Any:
        return {name: _changed(change, getattr(value, name)) for name, _, change in items}

    return JsonShape(wire, load, dump)


def _wire_fields(kind: Any, shapes: Mapping[str, JsonShape]) -> list[Any]:
    required = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    return [
        (name, shape.wire) if name in required else (name, Union[shape.wire, UnsetType], UNSET)  # noqa: UP007
        for name, shape in shapes.items()
    ]
