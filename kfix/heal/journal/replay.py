"""Replays a journal into what a run had done when it ended or was killed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kfix.heal.model.facts import Fact, FactJson
from kfix.heal.model.plan import Plan

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
