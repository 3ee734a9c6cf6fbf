"""Replays a journal into what a run had done when it ended or was killed."""

import math
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from kfix.core.clock_steps import wall
from kfix.core.documents.problems import shown
from kfix.core.numbers import LARGEST_INT64
from kfix.core.ports import Clock
from kfix.heal.model.facts import Fact, FactJson
from kfix.heal.model.plan import Plan

# How long ago a record of a journal was written, even if the host's clock was set since then.

Record = Mapping[str, Any]


def seconds_since(record: Record, clock: Clock) -> float:
    """Returns how long ago a record was written, in seconds.

    For a record from before the last boot, or from another host, it compares two wall clocks; the result is negative if
    one of them is wrong.
    """
    passed = _in_this_boot(record, clock)
    return clock.now() - wall(record) if passed is None else passed


def surely_since(record: Record, clock: Clock) -> float:
    """Returns the seconds that have surely passed since a record was written, even if the clock was set meanwhile.

    A host that has booted since then has been up for that long. If a boot has no name, the wall clock decides.
    """
    passed = _in_this_boot(record, clock)
    if passed is not None:
        return passed
    if not clock.boot() or not record.get("boot"):
        return max(0.0, seconds_since(record, clock))
    who = record.get("who")
    here = isinstance(who, Mapping) and who.get("host") == socket.gethostname()
    return clock.monotonic() if here else 0.0


def _in_this_boot(record: Record, clock: Clock) -> float | None:
    """Returns the seconds since a record, or None if it was not written since this host booted."""
    boot = clock.boot()
    if not boot or record.get("boot") != boot or "mono" not in record:
        return None
    passed = clock.monotonic() - float(record["mono"])
    return passed if passed >= 0 else None


# The fields of journal records that are read back, and their types.
#
# Written by hand instead of with pydantic, because every diagnosis reads journals for unfinished runs and should not
# wait 0.1 s for the import (docs/adr/012).


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


#: Outcomes after which a run cannot be resumed.
FINAL = frozenset({"proved", "already_healthy", "aborted"})
#: Prefix of the id of a step that reverts another one.
UNDO = "undo-"


@dataclass(slots=True)
class Replay:
    """What a journal shows of a run.

    - `done`: the steps that changed something, in their order
    - `open`: the intents without a recorded result, each with the facts before it; `sent`: the record of each
    - `facts`: the values that the run's own changes left
    - `unmoved`: changes whose new facts were not recorded, or not since the change was verified, each with the facts
      before it; `images`: the facts before every change
    - `rates`: the throttles (bytes per second) that were changed during the run
    - `outcome`: "" if the run has no end
    - `nothing_stands`: whether the run reverted everything it had changed
    - `spent`: the seconds during which a process carried the run out
    - `at`: the options, quoted for a shell, that the last of these processes had besides the addresses in the plan
    """

    done: list[str] = field(default_factory=list)
    verified: set[str] = field(default_factory=set)
    open: dict[str, Mapping[str, Fact]] = field(default_factory=dict)
    sent: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: dict[str, FactJson] = field(default_factory=dict)
    unmoved: dict[str, Mapping[str, Fact]] = field(default_factory=dict)
    images: dict[str, Mapping[str, Fact]] = field(default_factory=dict)
    rates: dict[str, int] = field(default_factory=dict)
    outcome: str = ""
    nothing_stands: bool = False
    spent: float = 0.0
    at: str = ""


def replay(records: Iterable[Mapping[str, Any]]) -> Replay:
    """Replays the records of a run. It does not check that their steps belong to the plan."""
    found = Replay()
    last: float | None = None
    for record in records:
        now = record.get("mono")
        if record.get("type") in {"run.start", "run.resumed"}:
            last = None
            found.at = str(record.get("reached_by", ""))
        if isinstance(now, int | float) and last is not None:
            found.spent += max(0.0, now - last)
        last = now if isinstance(now, int | float) else last
        _step(found, str(record.get("step", "")), record)
        match record.get("type"):
            case "facts.updated":
                found.facts |= {k: _fact(v) for k, v in (record.get("facts") or {}).items()}
            case "run.end":
                found.outcome = str(record.get("outcome", ""))
                found.nothing_stands = _nothing_stands(record)
            case "run.resumed":
                found.outcome = ""
                found.nothing_stands = False
    return found


def _nothing_stands(end: Mapping[str, Any]) -> bool:
    """Returns whether the run had reverted everything it changed."""
    return all(name in end and not end[name] for name in ("changed", "left", "under_way"))


def _step(found: Replay, step: str, record: Mapping[str, Any]) -> None:
    match record.get("type"):
        case "step.intent":
            image = record.get("pre_image") or {}
            found.open[step] = {k: Fact(k, _fact(v), "journal") for k, v in image.items()}
            found.sent[step] = record
        case "step.result" if record.get("changed") is not None:
            _result(found, step, record)
        case "throttle.intent":
            found.unmoved[step] = {}
            found.rates[step] = int(record["args"]["rate"])
        case "facts.updated":
            found.unmoved.pop(step, None)
        case "step.done_by_hand":
            found.open.pop(step, None)
            found.unmoved.pop(step, None)
            found.done.append(step)
            found.verified.add(step)
        case "step.verified":
            found.verified.add(step)
            if step in found.done:
                # A KRaft broker may still have shown the old facts right after the call.
                found.unmoved[step] = found.images.get(step, {})


def _result(found: Replay, step: str, record: Mapping[str, Any]) -> None:
    image = found.open.pop(step, {})
    if not record["changed"]:
        return
    found.unmoved[step] = found.images[step] = image
    if step.startswith(UNDO):
        # The interrupted run cancelled this move itself; such a step is in no plan.
        found.done = [name for name in found.done if name != step.removeprefix(UNDO)]
        found.verified.discard(step.removeprefix(UNDO))
    found.done = [*(name for name in found.done if name != step), step]


def begin_again(found: Replay, plan: Plan) -> None:
    """Marks throttles to be set again: an earlier end removed them, although replicas remain to be copied."""
    at = {name: number for number, name in enumerate(found.done)}
    moving = any(s.estimate.replicas_moved and s.id not in found.verified for s in plan.steps)
    again: set[str] = set()
    for back in (s for s in plan.restoring if s.id in at):
        undone = (s.id for s in plan.steps if s.id in at and s.undone_by(back))
        for name in undone:
            if at[name] > at[back.id]:
                again.add(back.id)
            elif moving:
                again |= {name, back.id}
    found.done = [name for name in found.done if name not in again]
    found.verified -= again


def _fact(value: Any) -> FactJson:
    return tuple(value) if isinstance(value, list) else value
