"""Stale means that the world changed: the facts a plan rests on, as they were and as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kfix.harmless import lines
from kfix.model.plan.facts import Fact, FactJson, show_value
from kfix.ports import ClusterReader
from kfix.probes.facts import read_facts


@dataclass(frozen=True, slots=True)
class Drift:
    key: str
    was: FactJson
    is_: FactJson


class PlannedFacts:
    """The facts as the plan has them, moved on by the run's own changes and by nothing else."""

    def __init__(self, facts: Iterable[Fact], moved: Mapping[str, FactJson] | None = None) -> None:
        """`moved` are values that the run's own changes gave to facts before this process took over."""
        self._facts = {f.key: replace(f, value=moved[f.key]) if moved and f.key in moved else f for f in facts}

    def compare(self, keys: Iterable[str], reader: ClusterReader) -> tuple[dict[str, Fact], tuple[Drift, ...]]:
        """(as they are now, what differs). `UnreachableError` where they cannot be read: unknown is not unchanged."""
        now = read_facts(reader, keys)
        drifts = (Drift(key, self._facts[key].value, fact.value) for key, fact in now.items())
        return now, tuple(d for d in drifts if d.was != d.is_)

    def move_on(self, keys: Iterable[str], reader: ClusterReader) -> Mapping[str, Fact]:
        """After an own change: what the action may have moved is read again and expected from then on."""
        now = read_facts(reader, [key for key in keys if key in self._facts])
        self._facts |= now
        return now


def table(drifts: tuple[Drift, ...]) -> str:
    """One line a fact: what it is called, what it was, what it is."""
    rows = [("fact", "was", "is"), *((d.key, show_value(d.was), show_value(d.is_)) for d in drifts)]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return lines(*(f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows))
