"""Resolves references while planning, and converts the values to the types that actions and checks need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kfix.core.args import ArgKind, Args, ArgValue, coerce
from kfix.core.diagnosis.finding import Finding
from kfix.core.errors import RefusedError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.model.plan import PlannedFor
from kfix.heal.model.runbook import RawValue
from kfix.heal.runbook.references import UnknownReference, Value, resolve


def known_of(finding: Finding | PlannedFor, params: Args) -> dict[str, Value]:
    known: dict[str, Value] = {f"finding.{name}": value for name, value in finding.facts.items()}
    known["finding.partitions"] = finding.partitions
    topics = {tp.topic for tp in finding.partitions}
    if topics:
        known.setdefault("finding.topic", topics.pop() if len(topics) == 1 else "several topics")
    known |= {"finding.code": finding.code, "finding.obj": finding.obj, "finding.summary": finding.summary}
    return known | {f"params.{name}": value for name, value in params.items()}


@dataclass(frozen=True, slots=True)
class Names:
    """The names known at one place of a runbook. Refusals name the runbook, the place and the finding."""

    runbook: str
    finding: str
    known: Mapping[str, Value]

    def inside(self, values: Mapping[str, Value]) -> Names:
        return Names(self.runbook, self.finding, {**self.known, **values})

    def args(self, raw: Mapping[str, RawValue], kinds: Mapping[str, ArgKind], where: str) -> Args:
        found: dict[str, ArgValue] = {}
        for name, value in raw.items():
            resolved = self.resolve(value, where)
            if kinds[name] is ArgKind.TEXT and type(resolved) is int:
                resolved = str(resolved)
            try:
                found[name] = coerce(kinds[name], resolved)
            except ValueError as error:
                raise RefusedError(f"{self.runbook}: {where}: {name}: {error}") from error
        return Args(found)

    def resolve(self, value: RawValue, where: str) -> Any:
        try:
            return resolve(value, self.known)
        except UnknownReference as error:
            text = f"{self.runbook}: {where}: {self.finding} has no fact {error.args[0]}"
            raise RefusedError(text) from error

    def text(self, value: str, where: str) -> str:
        return str(self.resolve(value, where))

    def seconds(self, value: RawValue, where: str) -> float:
        resolved = self.resolve(value, where)
        if not isinstance(resolved, float):
            raise RefusedError(f"{self.runbook}: {where}: {resolved!r} is not a duration")
        return resolved

    def number(self, value: RawValue, where: str) -> int:
        resolved = self.resolve(value, where)
        if type(resolved) is not int or resolved < 0:
            raise RefusedError(f"{self.runbook}: {where}: {resolved!r} is not a whole number of 0 or more")
        return resolved


def planned_for(finding: Finding) -> PlannedFor:
    partitions: tuple[TopicPartition, ...] = finding.partitions
    cause = f"{finding.cause.text} ({finding.cause.confidence})"
    return PlannedFor(finding.code, finding.obj, finding.summary, cause, partitions, dict(finding.facts))
