"""JSON from outside, checked once where it comes in: pydantic models check its types, its ranges and its depth.

A mismatch is one line with the path of the value: `views.1.partitions.orders[3].leader: wanted a whole number,
not a list`. pydantic's own parser bounds the depth and the digits of a number, and rejects NaN.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kfix.documents.shown import short, shown
from kfix.wording import continued

Model = TypeVar("Model", bound=BaseModel)

Int16 = Annotated[int, Field(ge=-(2**15), le=2**15 - 1)]
#: Ids of brokers, numbers of partitions, epochs and versions: Kafka has 32 bits for each.
Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
#: Offsets, zxids, sizes, and times in milliseconds.
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Port = Annotated[int, Field(ge=0, le=65_535)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
#: Seconds since the epoch, up to the year 9999: the end of Python's calendar.
Moment = Annotated[float, Field(ge=0, le=253_402_300_799, allow_inf_nan=False)]

_WANTED: Final[Mapping[str, str]] = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_unicode": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_PLACE: Final = re.compile(r" at line (\d+) column (\d+)$")


class StrictModel(BaseModel):
    """An object whose fields are all known."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class LenientModel(BaseModel):
    """An object that may hold more fields than are read."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class NotJsonError(ValueError):
    """The text is not complete JSON; line and column count from 1."""

    def __init__(self, why: str, line: int, column: int) -> None:
        super().__init__(why)
        self.line = line
        self.column = column


class ShapeError(ValueError):
    """One value does not fit: the message has its path, the wanted value, and the value found."""


def read_json(raw: str | bytes, model: type[Model], columns: Mapping[str, Sequence[str]] | None = None) -> Model:
    """Returns NotJsonError or ShapeError. `columns`: the names of a row's fields, by the field that holds the rows."""
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    if first["type"] == "json_invalid":
        text = str(first["ctx"]["error"])
        place = _PLACE.search(text)
        line, column = (int(place[1]), int(place[2])) if place else (1, 1)
        raise NotJsonError(_PLACE.sub("", text), line, column)
    raise ShapeError(_words(dict(first), columns or {}))


def _words(error: Mapping[str, Any], columns: Mapping[str, Sequence[str]]) -> str:
    path, got = list(error["loc"]), error["input"]
    match error["type"]:
        case "missing":
            last = path.pop()
            name = _column([*path, last], columns) or (
                f"the value number {last + 1}" if isinstance(last, int) else last
            )
            text = f"lacks {name}"
        case "extra_forbidden":
            text = f"has the unknown field {short(path.pop())}"
        case "greater_than_equal" | "less_than_equal":
            text = f"{short(got)} is out of range"
        case "literal_error":
            text = f"wanted {error['ctx']['expected']}, not {shown(got)}"
        case "too_long":
            text = f"wanted {error['ctx']['max_length']} values, not {len(got)}"
        case kind if kind in _WANTED:
            text = f"wanted {_WANTED[kind]}, not {shown(got)}"
        case _:
            reason = str(error["msg"]).removeprefix("Value error, ")
            text = continued(reason)
    return f"{_path(path, columns)}: {text}"


def _path(path: Sequence[str | int], columns: Mapping[str, Sequence[str]]) -> str:
    """Returns a path such as `a.b[3].c`; a key that is not an identifier is quoted."""
    text = ""
    for at, part in enumerate(path):
        column = _column(path[: at + 1], columns)
        if column:
            text += f".{column}"
        elif isinstance(part, int):
            text += f"[{part}]"
        elif part == "[key]":
            text += " (the key)"
        else:
            text += f".{part}" if re.fullmatch(r"[\w-]{1,80}", part) else f"[{short(part)}]"
    return text.removeprefix(".") or "the whole"


def _column(path: Sequence[str | int], columns: Mapping[str, Sequence[str]]) -> str:
    """The column of a path: for `...partitions.orders[3][1]` the second of `partitions`; "" where it has none."""
    if len(path) < 4 or not isinstance(path[-1], int) or not isinstance(path[-2], int):
        return ""
    names = columns.get(str(path[-4]), ())
    return names[path[-1]] if path[-1] < len(names) else ""
