"""JSON from outside, checked once on entry: msgspec checks its types, its ranges and its depth.

A mismatch is one line with the path of the value: `views.1.partitions.orders.3.leader: wanted a whole number, not a
list`. msgspec bounds the depth and the digits of a number, and rejects NaN.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from kfix.core.documents.opening import read_file
from kfix.core.documents.problems import short, shown
from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.wording import continued

T = TypeVar("T")

_WORDS: Final[Mapping[str, str]] = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_BYTE: Final = re.compile(r" \(byte (\d+)\)$")
_AT: Final = re.compile(r" - at (?:`key` in )?`\$[^`]*`$")
_IN_KEY: Final = re.compile(r" - at `key` in `\$[^`]*`$")
_MISSING: Final = re.compile(r"Object missing required field `(.*)`")
_LENGTH: Final = re.compile(r"Expected `array` of length (.+?)(?:, got \d+)?")
_WRONG: Final = re.compile(r"Expected `([a-z |]+)`, got `\w+`")
_RANGE: Final = re.compile(r"(Expected `\w+` [<>]=? .*|.*out of range)")


class NotJsonError(ValueError):
    """The text is not complete JSON; line and column count from 1."""

    def __init__(self, why: str, line: int, column: int) -> None:
        super().__init__(why)
        self.line = line
        self.column = column


class ShapeError(ValueError):
    """One value does not fit: the message has its path, the expected value, and the value found."""


def read_json(raw: str | bytes, kind: type[T]) -> T:
    """Returns a value of a type that msgspec knows. Raises NotJsonError or ShapeError."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        why = str(error)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _not_json(raw, error) from None
    try:
        found = _fault(msgspec.json.decode(raw), kind, "")
    except msgspec.ValidationError:
        # A number that Python cannot hold: only the typed decoder knows its approximate place.
        found = continued(why.replace("`", ""))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _not_json(raw, error) from None
    raise ShapeError(found)


def read_shape(path: Path, kind: type[T], what: str, hint: str) -> T:
    """Returns the content of a JSON file. Raises UsageError with the place of what is wrong.

    `what` names the file's content for one that cannot be read, and `hint` the file that is wanted.
    """
    try:
        return read_json(read_file(path), kind)
    except OSError as error:
        raise UsageError(f"{path}: {what} cannot be read: {error.strerror}") from None
    except NotJsonError as error:
        raise InvalidFileError((f"{path}:{error.line}:{error.column}: {error}",), hint=hint) from None
    except ShapeError as error:
        raise InvalidFileError((f"{path}: {error}",), hint=hint) from None


def _not_json(raw: str | bytes, error: Exception) -> NotJsonError:
    """Returns the error with its place, which is the end of the text if that ends too early."""
    data = raw.encode() if isinstance(raw, str) else raw
    if isinstance(error, RecursionError):
        return NotJsonError("it is nested too deeply", 1, 1)
    place = _BYTE.search(str(error))
    end = int(place[1]) if place else len(data)
    line = data.count(b"\n", 0, end) + 1
    why = _BYTE.sub("", str(error)).removeprefix("JSON is malformed: ")
    return NotJsonError(continued(why), line, end - data.rfind(b"\n", 0, end))


def _fault(value: Any, kind: Any, path: str) -> str:
    """Returns the first fault of a value with its path, "" if it has none. Slow: called only for a damaged file."""
    why = _why(value, kind)
    if not why:
        return ""
    for name, part, inner in _parts(value, kind):
        if found := _fault(part, inner, path + name):
            return found
    if _IN_KEY.search(why):
        key = next(key for key, part in value.items() if _why({key: part}, kind))
        return f"{_place(path + _step(key))} (the key): {_words(why, key, kind)}"
    return f"{_place(path)}: {_words(why, value, kind)}"


def _why(value: Any, kind: Any) -> str:
    try:
        msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _parts(value: Any, kind: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yields (name, part, type of the part) of the parts of a value."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in {Annotated, Union, UnionType}:
        for each in args[:1] if origin is Annotated else args:
            yield from _parts(value, each)
    elif isinstance(value, dict) and origin is dict:
        yield from ((_step(key), part, args[1]) for key, part in value.items())
    elif isinstance(value, dict) and _is(kind, msgspec.Struct):
        hints = get_type_hints(kind, include_extras=True)
        yield from ((_step(name), value[name], hint) for name, hint in hints.items() if name in value)
    elif isinstance(value, list) and _is(kind, tuple):
        hints = get_type_hints(kind, include_extras=True)
        yield from ((_step(name), part, hint) for part, (name, hint) in zip(value, hints.items(), strict=False))
    elif isinstance(value, list) and args:
        kinds = args if origin is tuple and args[-1] is not ... else (args[0],) * len(value)
        yield from ((f"[{at}]", part, each) for at, (part, each) in enumerate(zip(value, kinds, strict=False)))


def _choices(kind: Any) -> tuple[Any, ...]:
    """Returns the values of an enum or a Literal; empty for any other type."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(each.value for each in kind) if _is(kind, Enum) else ()


def _is(kind: Any, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)


def _step(name: str) -> str:
    """Returns a part of a path such as `.b`; a name that is not an identifier is quoted."""
    return f".{name}" if re.fullmatch(r"[\w-]{1,80}", name) else f"[{short(name)}]"


def _place(path: str) -> str:
    return path.removeprefix(".") or "the whole"


def _words(why: str, value: Any, kind: Any) -> str:
    text = _AT.sub("", why)
    if match := _MISSING.fullmatch(text):
        return f"lacks {match[1]}"
    if match := _WRONG.fullmatch(text):
        kinds = (_WORDS.get(name, name) for name in match[1].split(" | "))
        return f"wanted {' or '.join(kinds)}, not {shown(value)}"
    if match := _LENGTH.fullmatch(text):
        return f"wanted a list of {match[1]} values, not of {len(value)}"
    if choices := _choices(kind):
        return f"wanted {' or '.join(map(repr, choices))}, not {shown(value)}"
    if _RANGE.fullmatch(text):
        return f"{short(value)} is out of range"
    return continued(text.replace("`", ""))
