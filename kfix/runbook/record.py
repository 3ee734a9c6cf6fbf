"""What a journal's record must look like to be believed: the fields that somebody reads back, and their kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

_Is = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return type(value) is int


def _yes_no_unknown(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value))


def _time(value: Any) -> bool:
    with suppress(ValueError):
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    return False


def _person(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("user", "host"))


def _seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _facts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_fact, value.values()))


def _fact(value: Any) -> bool:
    return isinstance(value, int | str | None) or (isinstance(value, list) and all(map(_whole, value)))


def _rated(value: Any) -> bool:
    return isinstance(value, dict) and _whole(value.get("rate"))


_COMMON: Mapping[str, _Is] = {"type": _text, "t": _time, "run": _text, "plan": _text, "who": _person}
_OWN: Mapping[str, Mapping[str, _Is]] = {
    "run.start": {"cluster": _text, "runbook": _text, "finding": _text, "partitions": _texts},
    "run.end": {"outcome": _text, "exit": _whole, "changed": _texts, "left": _texts},
    "step.intent": {"step": _text, "args": lambda v: isinstance(v, dict), "pre_image": _facts},
    "step.result": {"step": _text, "changed": _yes_no_unknown},
    "step.verified": {"step": _text},
    "step.operator_did": {"step": _text},
    "throttle.intent": {"step": _text, "args": _rated},
    "facts.moved_on": {"step": _text, "facts": _facts},
}
_WHERE_GIVEN: Mapping[str, _Is] = {
    "step": _text,
    "seconds_to_proof": _seconds,
    "put_back": _texts,
    "under_way": _texts,
}


def is_record(data: Any) -> bool:
    if not isinstance(data, dict) or not _text(data.get("type")):
        return False
    wanted = {**_COMMON, **_OWN.get(data["type"], {})}
    given = {name: check for name, check in _WHERE_GIVEN.items() if name in data}
    return all(name in data and check(data[name]) for name, check in (wanted | given).items())
