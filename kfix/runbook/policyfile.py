"""The policy's file: YAML as strict as a runbook's, all mistakes at once, each as `file:line:col: text`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from kfix.actions.registry import ALL as ACTIONS
from kfix.errors import InvalidFileError, UsageError
from kfix.model.plan import Gate
from kfix.runbook.nodes import parse
from kfix.runbook.policy import Policy
from kfix.runbook.problems import Path, Problem, unknown
from kfix.runbook.schema import Bytes, Duration, Strict


class PolicyLimits(Strict):
    max_partitions: Annotated[int, Field(ge=0)] | None = None
    max_brokers: Annotated[int, Field(ge=1)] | None = None
    max_bytes_moved: Bytes | None = None
    max_duration: Duration | None = None
    max_concurrent_moves: Annotated[int, Field(ge=1)] | None = None
    max_unclean: Annotated[int, Field(ge=0)] | None = None
    cooldown: Duration | None = None


class PolicyModel(Strict):
    """Gates by action, never below the action's floor; limits, never above what a runbook has."""

    api_version: Annotated[Literal["kfix/v1"], Field(alias="apiVersion")]
    kind: Literal["Policy"]
    gates: dict[str, Literal["step", "typed", "two_person"]] = Field(default_factory=dict)
    limits: PolicyLimits = PolicyLimits()


def load_policy(path: FilePath) -> Policy:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no such policy") from error
    except UnicodeDecodeError as error:
        raise InvalidFileError((f"{path}:1:1: not UTF-8 text (byte {error.start})",)) from error
    except OSError as error:
        raise UsageError(f"{path}: the policy cannot be read: {error.strerror}") from error
    return parse_policy(text, str(path))


def parse_policy(text: str, origin: str) -> Policy:
    document = parse(text)
    problems = list(document.problems)
    model: PolicyModel | None = None
    if document.data is not None:
        found = list(_floors(document.data))
        try:
            model = PolicyModel.model_validate(document.data)
        except ValidationError as error:
            found += [_told(dict(e)) for e in error.errors(include_url=False)]
        problems += [(document.place(p.path, at_key=p.at_key), p.text) for p in found]
    if problems or model is None:
        told = dict.fromkeys(f"{origin}:{p.line}:{p.column}: {t}" for p, t in sorted(problems))
        raise InvalidFileError(tuple(told) or (f"{origin}:1:1: the file holds no policy",))
    gates = {action: Gate[word.upper()] for action, word in model.gates.items()}
    return Policy(gates, model.limits.model_dump(exclude_none=True), origin)


def _floors(data: object) -> Iterator[Problem]:
    """On the plain data, so that a mistake in the shape hides none in the meaning."""
    gates = data.get("gates") if isinstance(data, dict) else None
    for name, word in gates.items() if isinstance(gates, dict) else ():
        path: Path = ("gates", name)
        if name not in ACTIONS:
            yield Problem(path, unknown("action", name, ACTIONS), at_key=True)
            continue
        floor = ACTIONS[name].gate_floor
        if floor is Gate.AUTO:
            yield Problem(path, f"{name} asks nobody: it changes nothing, or puts back what was there", at_key=True)
        elif isinstance(word, str) and word.upper() in Gate.__members__ and Gate[word.upper()] < floor:
            yield Problem(path, f"gate {word!r} is below the floor {floor.word!r} of action {name}")


def _told(error: dict[str, Any]) -> Problem:
    path: Path = tuple(error["loc"])
    name = str(path[-1]) if path else ""
    match error["type"]:
        case "missing":
            return Problem(path[:-1], f"the policy lacks {name!r}")
        case "extra_forbidden":
            model = PolicyModel if len(path) == 1 else PolicyLimits
            known = sorted(f.alias or n for n, f in model.model_fields.items())
            return Problem(path, unknown("field", name, known), at_key=True)
        case "literal_error":
            return Problem(path, f"{name} is {error['input']!r}, wanted {error['ctx']['expected']}")
        case _:
            text = str(error["msg"]).removeprefix("Value error, ")
            return Problem(path, f"{name}: {text[:1].lower()}{text[1:]}")
