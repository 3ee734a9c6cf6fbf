"""The generated reference of a snapshot file, read from the declaration; KFIX_UPDATE_GOLDEN=1 with test_pages.py."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from inspect import cleandoc
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from kfix.core.declared import FieldMark, Int16, Int32, Moment, Port
from kfix.core.documents.declared import stored_fields
from kfix.core.documents.outputs import is_object, name_of, plain
from kfix.core.snapshot.naming import TopicPartition
from kfix.core.snapshot.snapshot import Snapshot

_PLAIN = {int: "int64", float: "number", str: "text", bool: "bool", type(None): "null"}
_PLAIN |= {date: "day", datetime: "time", Any: "any"}
_RANGES = {Int16: "int16", Int32: "int32", Moment: "seconds since the epoch", Port: "0 to 65535"}

#: So many fields are read as a sentence.
_FEW = 6


def snapshot_page() -> str:
    """Returns docs/snapshot-fields.md."""
    head = [
        "# Fields of a snapshot file",
        "",
        "Generated from the declarations in `kfix/core/snapshot/`. `kfix schema snapshot` prints a JSON Schema.",
        "What holds for all: [snapshot-format.md](snapshot-format.md). The file is the object `Snapshot` with two more",
        "fields, `format` and `version`. A field with a default (`= 0`) may be missing. `None` is `null`.",
    ]
    return "\n".join([*head, *(line for kind in kinds() for line in _section(kind)), ""])


def kinds() -> tuple[Any, ...]:
    """Returns the types that a file consists of, in the order in which they occur."""
    found: dict[Any, None] = {}

    def collect(hint: Any) -> None:
        if is_record(hint) and hint not in found:
            found[hint] = None
            for each in stored_fields(hint).values():
                collect(each)
        for each in get_args(hint):
            collect(each)

    collect(Snapshot)
    return tuple(found)


def is_record(hint: Any) -> bool:
    return is_object(hint) or hasattr(hint, "_fields")


def _section(kind: Any) -> Iterator[str]:
    text, meanings = _documented(kind)
    yield from ("", f"## {kind.__name__}", "", text, "")
    defaults = _defaults(kind)
    listed = {name: f"{value_of(hint)}{defaults.get(name, '')}" for name, hint in stored_fields(kind).items()}
    yield from entries(listed, meanings, is_dataclass(kind))


def entries(values: Mapping[str, str], meanings: Mapping[str, str], named: bool) -> Iterator[str]:
    """Yields a list of {name: kind of value} with their meanings; a sentence if they are few and need none."""
    yield from () if named else ("As a list:", "")
    if len(values) > _FEW or any(meanings.get(name) for name in values):
        for name, value in values.items():
            yield f"- `{name}` ({value}){': ' if meanings.get(name) else ''}{meanings.get(name, '')}"
    else:
        yield "; ".join(f"`{name}` ({value})" for name, value in values.items()) + "."


def _documented(kind: Any) -> tuple[str, Mapping[str, str]]:
    """Returns the prose of a docstring, and {field: meaning} where it lists the fields."""
    names = "|".join(stored_fields(kind))
    field = re.compile(rf"^({names})  +(.*(?:\n +.*)*)$", re.MULTILINE)
    doc = cleandoc(kind.__doc__)
    meanings = {match[1]: " ".join(match[2].split()) for match in field.finditer(doc)}
    prose = re.sub(r"\n{3,}", "\n\n", field.sub("", doc)).strip()
    return prose, meanings


def _defaults(kind: Any) -> dict[str, str]:
    if not is_dataclass(kind):
        return {name: _shown(value) for name, value in kind._field_defaults.items()}
    made = {f.name: f.default if f.default_factory is MISSING else f.default_factory() for f in fields(kind)}
    return {name: _shown(value) for name, value in made.items() if value is not MISSING}


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: " = `null`", False: " = `false`", True: " = `true`"}[value]
    return f" = `{value}`" if isinstance(value, (int, float)) else ' = `""`' if value == "" else " = empty"


def value_of(hint: Any) -> str:  # noqa: PLR0911 - one return a kind
    origin, args = get_origin(hint), get_args(hint)
    if hint in _RANGES:
        return _RANGES[hint]
    if origin is Annotated:
        known = "time" if FieldMark.TIME in args else value_of(args[0])
        known += ", or the broker with the same" if FieldMark.SHARED in args else ""
        return f"{known} or null" if FieldMark.OR_NULL in args else known
    if origin is Literal:
        return _one_of(args)
    if origin in {Union, UnionType}:
        return " or ".join(value_of(each) for each in args)
    if args and args[0] is TopicPartition and origin is not tuple:
        return f"{{topic: {{partition: {value_of(args[1])}}}}}"
    if len(args) == 2 and origin is not tuple:
        return f"{{{value_of(args[0])}: {value_of(args[1])}}}"
    if args:
        return f"[{', '.join('...' if each is ... else value_of(each) for each in args)}]"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _one_of([plain(each) for each in hint])
    return f"[{name_of(hint)}](#{name_of(hint).lower()})" if is_record(hint) else _PLAIN[hint]


def _one_of(words: Sequence[Any]) -> str:
    *first, last = (f"`{each}`" for each in words)
    return f"{', '.join(first)} or {last}" if first else last
