"""Detects stale plans: compares a plan's facts with the facts now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kfix.core.harmless import lines
from kfix.core.ports import ClusterReader
from kfix.heal.model.facts import Fact, FactJson, show_value
from kfix.heal.probes.facts import read_facts


@dataclass(frozen=True, slots=True)
class Drift:
    key: str
    was: FactJson
    is_: FactJson


class PlannedFacts:
    """The facts of a plan, updated only by the run's own changes."""

    def __init__(self, facts: Iterable[Fact], moved: Mapping[str, FactJson] | None = None) -> None:
        """`moved` holds the facts that the run's own changes had set before this process took over."""
        self._facts = {f.key: replace(f, value=moved[f.key]) if moved and f.key in moved else f for f in facts}

    def compare(self, keys: Iterable[str], reader: ClusterReader) -> tuple[dict[str, Fact], tuple[Drift, ...]]:
        """Returns the facts as they are now, and those that differ. Raises UnreachableError if they cannot be read."""
        now = read_facts(reader, keys)
        drifts = (Drift(key, self._facts[key].value, fact.value) for key, fact in now.items())
        return now, tuple(d for d in drifts if d.was != d.is_)

    def refresh(self, keys: Iterable[str], reader: ClusterReader) -> Mapping[str, Fact]:
        """Reads the facts that a change of this run may have altered. Their new values are expected from then on."""
        now = read_facts(reader, [key for key in keys if key in self._facts])
        self._facts |= now
        return now


def table(drifts: tuple[Drift, ...]) -> str:
    """Formats one line per fact: its key, its value in the plan, its value now."""
    rows = [("fact", "was", "is"), *((d.key, show_value(d.was), show_value(d.is_)) for d in drifts)]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return lines(*(f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows))
