"""Expands the loops and checks of a runbook into literal ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kfix.core.errors import RefusedError
from kfix.heal.model.plan import CheckCall, Skipped
from kfix.heal.model.runbook import CheckTemplate, ForEach, words
from kfix.heal.planning.decide import decide
from kfix.heal.planning.loops import Items
from kfix.heal.planning.values import Names
from kfix.heal.probes.facts import FactReader
from kfix.heal.probes.registry import ALL as PROBES
from kfix.heal.runbook.sources import source_of


@dataclass(frozen=True, slots=True)
class Expander:
    """Expands loops and checks for one finding. `skipped` collects what conditions excluded, and why."""

    items: Items
    read: FactReader
    skipped: list[Skipped]
    finding: str

    def each(self, name: str, loop: ForEach | None, names: Names) -> Iterator[tuple[str, Names]]:
        """Yields a literal copy per item. A single item keeps the plain name. Raises RefusedError if there is none."""
        if loop is None:
            yield name, names
            return
        source = source_of(loop.items)
        items = self.items.of(source, loop.name)
        # If no replica moves there is nothing to throttle, and a partition may hold no offset: these may be empty.
        if not items and not source.startswith(("placement.", "logged.")):
            what = "names no partition" if source == "finding.partitions" else f"gives no {source}"
            raise RefusedError(f"{name}: {self.finding} {what} to loop over")
        for item in items:
            yield (f"{name}:{item.suffix}" if len(items) > 1 else name), names.inside(item.values)

    def checks(self, templates: tuple[CheckTemplate, ...], where: str, names: Names) -> tuple[CheckCall, ...]:
        return tuple(call for t in templates for call in self._check(t, f"{where} {t.check}", names))

    def _check(self, template: CheckTemplate, where: str, names: Names) -> Iterator[CheckCall]:
        """Yields the literal checks. The condition is decided per item, because it may depend on the item's topic."""
        probe = PROBES[template.check]
        left_out = False
        for _, one in self.each(where, template.for_each, names):
            if template.when is not None and not decide(template.when, one.known, where):
                left_out = True
                continue
            args = one.args(template.args, {**probe.params, **probe.optional}, where)
            yield CheckCall(template.check, probe.freeze(args, self.read))
        if left_out and template.when is not None:
            self.skipped.append(Skipped(where, f"only when {words(template.when)}"))
