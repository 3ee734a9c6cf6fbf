"""The plan's file: JSON that people can review, frozen by a hash over its canonical form."""

import dataclasses
import hashlib
import json
import math
import os
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from enum import Enum, IntEnum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any

from kfix import __version__
from kfix.core.args import Args, ArgValue, coerce, parse_partition
from kfix.core.documents.opening import read_file
from kfix.core.documents.problems import short, shown
from kfix.core.errors import UsageError
from kfix.core.harmless import for_json
from kfix.core.private import new_private
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.plan import SCHEMA, CheckCall, Gate, Plan, PlannedStep
from kfix.heal.placement.reassignment_json import render
from kfix.heal.plan.fidelity import over_limits
from kfix.heal.plan.steps import described, partition_counts
from kfix.heal.probes.registry import ALL as PROBES

# Dataclasses into plain JSON values and back, by their own annotations. A missing or surplus field is an error.

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


# It is written once, with mode 0600, and never over another file. A file read back is not trusted: the hash reveals
# edits, and `audit` rejects plans that kfix would not have made.

#: Seconds until a plan expires; less with a typed step, because its phrase must rest on fresh facts.
_PLAN_SECONDS = 30 * 60.0
_TYPED_PLAN_SECONDS = 5 * 60.0
#: The longest message about one mistake; text in a forged plan may be of any length.
_LONGEST = 600
_DAY = 86_400.0
_END_OF_TIME = 253_402_300_800.0  # the year 10000


def seal(plan: Plan) -> Plan:
    """Returns the plan with its own hash as its id."""
    return replace(plan, plan_id=_hash(_body(plan)))


def to_json(plan: Plan) -> str:
    body = {**_body(plan), "plan_id": plan.plan_id, "impact": to_plain(plan.impact)}
    return for_json(body, indent=2, sort_keys=True) + "\n"


def write(plan: Plan, path: Path) -> None:
    """Writes a plan to a new file. Raises UsageError if the file exists or cannot be written."""
    _write_new(path, to_json(plan), "the plan", "--output-file")


def write_moves(plan: Plan, path: Path) -> int:
    """Writes the plan's moves for kafka-reassign-partitions to a new file and returns their number.

    Raises UsageError if the plan moves no replica, or the file exists or cannot be written.
    """
    moves = [(s.args.tp(), s.args.brokers("replicas")) for s in plan.steps if s.action == "reassign.move"]
    if not moves:
        raise UsageError(f"plan {plan.short_id} moves no replica: there is nothing to write to {path}")
    _write_new(path, render(moves), "the moves", "--json-out")
    return len(moves)


def _write_new(path: Path, text: str, what: str, option: str) -> None:
    try:
        handle = new_private(path)
    except FileExistsError as error:
        raise UsageError(f"{path} exists and is not overwritten", hint=f"name another file with {option}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot write {what}: {error.strerror}") from error
    try:
        # A lone surrogate, as in a file name that is not UTF-8, is written as a JSON escape.
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise UsageError(f"{path}: cannot write {what}: {error.strerror}; the file was removed") from error


def read(path: Path) -> Plan:
    """Reads and audits a plan. Raises UsageError if the file cannot be read or is not a valid plan."""
    try:
        text = read_file(path).decode("utf-8")
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such plan file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot read the plan: {error}") from error
    return from_json(text, str(path))


def from_json(text: str, origin: str) -> Plan:
    try:
        data = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_float=_finite)
    except ValueError as error:
        raise UsageError(
            f"{origin}: not a complete plan: {error}", hint="make a new plan with kfix runbook plan NAME"
        ) from error
    except RecursionError as error:
        raise UsageError(f"{origin}: not a plan: nested too deeply") from error
    if not isinstance(data, dict) or data.pop("schema", None) != SCHEMA:
        raise UsageError(f"{origin}: not a plan of schema {SCHEMA}")
    data.pop("impact", None)
    claimed = data.pop("plan_id", None)
    actual = _hash({**data, "schema": SCHEMA})
    if claimed != actual:
        text = (
            f"{origin}: the plan was edited after it was made: its id is {str(claimed)[:8]}, the id of its content is "
            f"{actual[:8]}"
        )
        raise UsageError(text, hint="make a new plan with kfix runbook plan NAME")
    try:
        plan: Plan = from_plain(Plan, {**data, "plan_id": actual}, "plan")
    except (ValueError, TypeError) as error:
        raise UsageError(f"{origin}: not a plan of this version of kfix: {error}") from error
    audit(plan, origin)
    return plan


def longest_life(steps: Iterable[PlannedStep]) -> float:
    """Returns the seconds for which a plan with these steps is valid at most: a typed phrase names a fresh fact."""
    return _TYPED_PLAN_SECONDS if any(step.gate >= Gate.TYPED for step in steps) else _PLAN_SECONDS


def audit(plan: Plan, origin: str) -> None:
    """Raises UsageError for a plan that kfix would not have made.

    The hash proves only that a plan was not edited, so gate floors, guards and texts are checked again.
    """
    for problem in (*_audit_whole(plan), *over_limits(plan)):
        raise UsageError(f"{origin}: {problem[:_LONGEST]}")
    for step in plan.steps:
        problem = _audit_step(step, {fact.key for fact in plan.facts}) or _audit_restore(step, plan)
        if not problem and plan.created.kfix == __version__:
            problem = _audit_words(step, plan.cluster.name)
        if problem:
            raise UsageError(f"{origin}: step {step.id[:_LONGEST]}: {problem[:_LONGEST]}")
    for call in (*plan.preconditions, *plan.goal.checks, *plan.standing, *(i.call for i in plan.invariants)):
        problem = _audit_check(call)
        if problem:
            raise UsageError(f"{origin}: {problem[:_LONGEST]}")


def _audit_whole(plan: Plan) -> Iterator[str]:
    if not plan.steps or not plan.goal.checks:
        yield f"the plan has no {'goal check' if plan.steps else 'steps'}"
    longest = longest_life(plan.steps)
    if not 0 <= plan.expires_at - plan.created.at <= longest:
        yield f"the plan is valid for longer than the {longest / 60:g} minutes allowed"
    if not 0 <= plan.created.at < _END_OF_TIME:
        yield "the plan's creation time is impossible"
    if plan.goal.consecutive < 1 or not 0 < plan.goal.interval <= _DAY:
        yield "the goal's interval or number of consecutive passes is impossible"
    for name, times in Counter(step.id for step in plan.steps).items():
        if times > 1:
            yield f"{times} steps have the id {name}"


def _audit_step(step: PlannedStep, facts: set[str]) -> str:
    action = ACTIONS.get(step.action)
    if action is None:
        return f"unknown action {step.action!r}"
    kinds = action.kinds
    problem = _audit_args(step.args, kinds.keys()) or next(filter(None, map(_audit_check, step.require)), "")
    problem = problem or next(filter(None, map(_audit_check, (*step.unless, *step.verify))), "")
    problem = problem or ("" if step.verify else "no check verifies it")
    problem = problem or (
        "" if step.batch >= 0 and 0 <= step.pause <= _DAY else "its batch number or pause is impossible"
    )
    if problem:
        return problem
    try:
        for name, kind in kinds.items():
            coerce(kind, step.args[name])
    except ValueError as error:
        return str(error)
    floor = action.gate_for(step.args)
    if step.gate < floor:
        return f"gate {step.gate.word!r} is below the floor {floor.word!r} of {action.name}"
    reads = {*action.reads(step.args), *partition_counts(step.phase, step.action, step.args)}
    guards = set(action.guards(step.args))
    whole = guards <= set(step.require) and reads <= set(step.pre) <= facts
    return "" if whole else f"guards or facts that {action.name} needs are missing"


def _audit_restore(step: PlannedStep, plan: Plan) -> str:
    """Checks that a change without a gate only restores what another step of the same plan found."""
    if step.gate is not Gate.AUTO or not ACTIONS[step.action].changes:
        return ""
    found = (s.inverse for s in plan.steps if s.inverse is not None)
    if any((u.action, u.args) == (step.action, step.args) for u in found):
        return ""
    return f"{step.action} has no gate, but restores nothing that a step of this plan found"


def _audit_words(step: PlannedStep, cluster: str) -> str:
    """Checks that the texts people approve describe what is sent. Another version of kfix may word them differently."""
    shown = described(step.action, step.args, cluster)
    odd = [name for name, value in shown.items() if getattr(step, name) != value]
    return f"{odd[0]!r} does not match {step.action} with these arguments" if odd else ""


def _audit_check(call: CheckCall) -> str:
    probe = PROBES.get(call.check)
    if probe is None:
        return f"unknown check {call.check!r}"
    kinds = {**probe.params, **probe.optional}
    problem = _audit_args(call.args, kinds.keys())
    try:
        for name, value in call.args.items():
            if name in kinds:
                coerce(kinds[name], value)
    except ValueError as error:
        return str(error)
    return f"{call.check}: {problem}" if problem else ""


def _audit_args(args: Args, wanted: Any) -> str:
    odd = sorted(set(args) ^ set(wanted))
    return f"argument {odd[0]!r} is missing or unexpected" if odd else ""


def _body(plan: Plan) -> dict[str, Any]:
    body: dict[str, Any] = to_plain(plan)
    del body["plan_id"]
    return {"schema": SCHEMA, **body}


def _hash(body: dict[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"duplicate key {short(key)}")
        found[key] = value
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a valid number")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a valid number")
