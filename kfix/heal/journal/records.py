"""The fields of journal records that are read back, and their types.

Written by hand instead of with pydantic, because every diagnosis reads journals for unfinished runs and should not
wait 0.1 s for the import (docs/adr/012).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from kfix.core.documents.shown import shown
from kfix.core.numbers import LARGEST_INT64


class _Kind(NamedTuple):
    wanted: str
    fits: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return type(value) is int and -LARGEST_INT64 <= value <= LARGEST_INT64


def _is_list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _is_time(value: Any) -> bool:
    with suppress(ValueError, OverflowError):
        return isinstance(value, str) and datetime.fromisoformat(value).timestamp() >= 0 and value.endswith("Z")
    return False


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_fact(value: Any) -> bool:
    return value is None or isinstance(value, bool | str) or _is_whole(value) or _is_list_of(_is_whole)(value)


def _is_object_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def _is_person(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_text(value.get(name)) for name in ("user", "host"))


def _or_null(kind: _Kind) -> _Kind:
    return _Kind(f"{kind.wanted} or null", lambda value: value is None or kind.fits(value))


_TEXT = _Kind("text", _is_text)
_WHOLE = _Kind("a whole number", _is_whole)
_NUMBER = _Kind("a number", _is_number)
_BOOL = _Kind("true or false", lambda value: isinstance(value, bool))
_TEXTS = _Kind("a list of texts", _is_list_of(_is_text))
_TIME = _Kind("a moment of UTC", _is_time)
_PERSON = _Kind("an object with user and host", _is_person)
_FACT = _Kind("a fact", _is_fact)
_FACTS = _Kind("an object of facts", _is_object_of(_is_fact))
_ARGS = _Kind("an object of arguments", _is_object_of(lambda value: _is_fact(value) or _is_number(value)))
_RATED = _Kind("an object with a rate", lambda value: _ARGS.fits(value) and _is_whole(value.get("rate")))

_COMMON: Mapping[str, _Kind] = {"type": _TEXT, "t": _TIME, "run": _TEXT, "plan": _TEXT, "who": _PERSON}
_OWN: Mapping[str, Mapping[str, _Kind]] = {
    "run.start": {"cluster": _TEXT, "runbook": _TEXT, "finding": _TEXT, "partitions": _TEXTS},
    "run.end": {"outcome": _TEXT, "exit": _WHOLE, "changed": _TEXTS, "left": _TEXTS},
    "step.intent": {"step": _TEXT, "args": _ARGS, "pre_image": _FACTS},
    "step.result": {"step": _TEXT, "changed": _or_null(_BOOL)},
    "step.verified": {"step": _TEXT},
    "step.done_by_hand": {"step": _TEXT},
    "throttle.intent": {"step": _TEXT, "args": _RATED},
    "facts.updated": {"step": _TEXT, "facts": _FACTS},
}
_WHERE_GIVEN: Mapping[str, _Kind] = {
    **dict.fromkeys(("action", "by", "check", "error", "key", "level", "limit"), _TEXT),
    **dict.fromkeys(("boot", "observed", "part", "progress", "reached_by", "scope", "step"), _TEXT),
    **dict.fromkeys(("text", "title", "verdict", "wanted", "what", "why"), _TEXT),
    **dict.fromkeys(("answer", "undoes"), _or_null(_TEXT)),
    **dict.fromkeys(("cap", "mono", "seconds", "seconds_to_proof"), _NUMBER),
    **dict.fromkeys(("bytes_done", "bytes_per_second", "bytes_total", "code", "seconds_left"), _or_null(_WHOLE)),
    **dict.fromkeys(("in_row", "moving", "seq"), _WHOLE),
    **dict.fromkeys(("adopted", "ok", "torn"), _BOOL),
    **dict.fromkeys(("passed", "phrase_ok"), _or_null(_BOOL)),
    **dict.fromkeys(("did", "done", "open", "partitions", "put_back", "steps", "under_way"), _TEXTS),
    **dict.fromkeys(("is_", "was"), _FACT),
}


def wrong_in(data: Any) -> str:
    """Returns what is wrong with a record, such as `step: wanted text, not a list`, or ""."""
    if not isinstance(data, dict) or not _is_text(data.get("type")):
        return "is not a record"
    needed = {**_COMMON, **_OWN.get(data["type"], {})}
    given = {name: kind for name, kind in _WHERE_GIVEN.items() if name in data}
    for name, kind in {**given, **needed}.items():
        if name not in data:
            return f"lacks {name}"
        if not kind.fits(data[name]):
            return f"{name}: wanted {kind.wanted}, not {shown(data[name])}"
    return ""
