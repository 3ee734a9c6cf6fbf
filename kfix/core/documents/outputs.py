"""JSON outputs: a class declares the keys of an object, the type of each value, and, in `Annotated`, its meaning.

The object (`written`), its JSON Schema (`schema_of`) and docs/json.md are made from that declaration. A dataclass
whose fields are the keys is its own declaration, and the base of one that adds keys. Within a version, keys are added,
never renamed or removed.
"""

from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import date, datetime
from enum import Enum, IntEnum
from functools import cache
from inspect import getdoc
from types import UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from kfix.core.declared import FieldMark, Pattern, Range
from kfix.core.wording import utc_iso

_PLAIN: Final[Mapping[Any, Mapping[str, Any]]] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    date: {"type": "string", "format": "date"},
    datetime: {"type": "string", "format": "date-time"},
    Any: {},
}
_AS_IT_IS: Final = frozenset({int, float, str, bool, type(None)})


@cache
def keys_of(kind: Any) -> Mapping[str, Any]:
    """Returns {key: its declared type} in the order of the object: the keys of the last base first.

    A name that is a word of Python ends with `_`.
    """
    found: dict[str, Any] = {}
    for each in reversed(kind.__mro__[:-1]):
        hints = get_type_hints(each, include_extras=True)
        own = ((name, hints[name]) for name in vars(each).get("__annotations__", ()))
        found |= {name: hint for name, hint in own if FieldMark.UNSTORED not in marks_of(hint)}
    return found


def marks_of(hint: Any) -> tuple[Any, ...]:
    return getattr(hint, "__metadata__", ())


def is_time(hint: Any) -> bool:
    """Returns whether a value is a time in seconds, or None: a number in Python, a text in an output."""
    return FieldMark.TIME in marks_of(hint) or any(is_time(each) for each in get_args(hint))


def is_object(hint: Any) -> bool:
    """Returns whether a type declares the keys of an object."""
    return isinstance(hint, type) and hint not in _PLAIN and not issubclass(hint, Enum | tuple)


def written(kind: type, source: object = None, /, **given: Any) -> dict[str, Any]:
    """Returns the object: each value is the one given, the only one of its type, or the attribute of `source`.

    Raises TypeError for a value of a key that is not declared.
    """
    if unknown := given.keys() - keys_of(kind).keys():
        raise TypeError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    found: dict[str, Any] = {}
    for key in _keys(kind):
        if key.name in given:
            found[key.written] = key.plain(given[key.name])
        elif key.only:
            [found[key.written]] = key.only
        elif not key.optional:
            found[key.written] = key.of(source)
    return found


class _Key(NamedTuple):
    """A key as it is written; `only` has the value of a type that has one, `written` is the name in the object."""

    name: str
    written: str
    only: tuple[Any, ...]
    optional: bool
    or_null: bool
    is_time: bool

    def of(self, source: object) -> Any:
        value = getattr(source, self.name)
        return None if self.or_null and value < 0 else self.plain(value)

    def plain(self, value: Any) -> Any:
        return utc_iso(value) if self.is_time and value is not None else plain(value)


@cache
def _keys(kind: Any) -> tuple[_Key, ...]:
    found = []
    for name, hint in keys_of(kind).items():
        marks, args = marks_of(hint), get_args(hint)
        only = args if get_origin(hint) is Literal and len(args) == 1 else ()
        found.append(
            _Key(name, name.rstrip("_"), only, FieldMark.OPTIONAL in marks, FieldMark.OR_NULL in marks, is_time(hint))
        )
    return tuple(found)


def plain(value: Any) -> Any:
    """Returns a value as JSON has it: a dataclass as an object, a severity as its name, a date in ISO 8601."""
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, Enum):
        return value.name.lower() if isinstance(value, IntEnum) else value.value
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if is_dataclass(value):
        kind: Any = type(value)
        return {key.written: key.of(value) for key in _keys(kind)}
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, date) else value


def schema_of(kind: type) -> dict[str, Any]:
    """Returns the JSON Schema of an object; it allows further keys, since keys are added within a version."""
    found: dict[str, Any] = {}
    _schema(kind, found)
    title = getdoc(kind) or ""
    return {"title": title.partition("\n")[0], **found.pop(name_of(kind)), "$defs": found}


def name_of(kind: Any) -> str:
    return str(kind.__name__).removesuffix("Json")


def _schema(hint: Any, defs: dict[str, Any]) -> Mapping[str, Any]:  # noqa: PLR0911 - one return a kind
    """Returns the schema of a value; those of objects are added to `defs`."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if FieldMark.TIME in args:
            return {**_PLAIN[datetime], **_bounds(args[1:])}
        base = _schema(args[0] | None if FieldMark.OR_NULL in args else args[0], defs)
        return {**base, **_bounds(args[1:])}
    if origin is Literal:
        return {"const": args[0]} if len(args) == 1 else {"enum": list(args)}
    if origin in {Union, UnionType}:
        return {"anyOf": [_schema(each, defs) for each in args]}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema(args[1], defs)}
    if origin is tuple:
        return {"type": "array", **_items(args, defs)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [plain(each) for each in hint]}
    if isinstance(hint, type) and issubclass(hint, tuple):
        return {"type": "array", **_items(tuple(get_type_hints(hint).values()), defs)}
    return _object(hint, defs) if is_object(hint) else _PLAIN[hint]


def _items(kinds: tuple[Any, ...], defs: dict[str, Any]) -> Mapping[str, Any]:
    if kinds[-1] is ...:
        return {"items": _schema(kinds[0], defs)}
    return {"prefixItems": [_schema(each, defs) for each in kinds]}


def _bounds(marks: tuple[Any, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for mark in marks:
        if isinstance(mark, Range):
            found |= {"minimum": mark.least, "maximum": mark.greatest}
        elif isinstance(mark, Pattern):
            found["pattern"] = mark.regex
        elif isinstance(mark, str):
            found["description"] = mark
    return found


def _object(kind: Any, defs: dict[str, Any]) -> Mapping[str, Any]:
    name = name_of(kind)
    if name not in defs:
        defs[name] = {}
        keys = {key.rstrip("_"): hint for key, hint in keys_of(kind).items()}
        properties = {key: _schema(hint, defs) for key, hint in keys.items()}
        required = [key for key, hint in keys.items() if FieldMark.OPTIONAL not in marks_of(hint)]
        defs[name] = {"type": "object", "properties": properties, "required": required}
    return {"$ref": f"#/$defs/{name}"}
