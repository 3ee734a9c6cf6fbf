"""A journal read back into what a run had done when it ended or was killed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kfix.model.facts import Fact, FactJson

#: Endings after which there is nothing to go on with.
FINAL = frozenset({"proved", "already_well", "aborted"})


@dataclass(slots=True)
class Replay:
    """`done`: steps that changed something, in their order. `open`: intents whose result nobody recorded, with the
    facts of that moment. `facts`: what the run's own changes moved. `outcome` "" where the run has no end.
    """

    done: list[str] = field(default_factory=list)
    verified: set[str] = field(default_factory=set)
    open: dict[str, Mapping[str, Fact]] = field(default_factory=dict)
    facts: dict[str, FactJson] = field(default_factory=dict)
    outcome: str = ""


def replay(records: Iterable[Mapping[str, Any]]) -> Replay:
    """Records of steps that the plan does not have are left to whoever compares the plan's hash."""
    found = Replay()
    for record in records:
        _step(found, str(record.get("step", "")), record)
        match record.get("type"):
            case "facts.moved_on":
                found.facts |= {k: _fact(v) for k, v in (record.get("facts") or {}).items()}
            case "run.end":
                found.outcome = str(record.get("outcome", ""))
            case "run.resumed":
                found.outcome = ""
    return found


def _step(found: Replay, step: str, record: Mapping[str, Any]) -> None:
    match record.get("type"):
        case "step.intent":
            image = record.get("pre_image") or {}
            found.open[step] = {k: Fact(k, _fact(v), "journal") for k, v in image.items()}
        case "step.result" if record.get("changed") is not None:
            found.open.pop(step, None)
            if record["changed"] and step not in found.done:
                found.done.append(step)
        case "step.operator_did":
            found.open.pop(step, None)
            found.done.append(step)
            found.verified.add(step)
        case "step.verified":
            found.verified.add(step)


def _fact(value: Any) -> FactJson:
    return tuple(value) if isinstance(value, list) else value
