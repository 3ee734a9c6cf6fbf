"""Selects a part of the fleet by name, tag or owner. A selection that matches nothing is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError
from kfix.core.inventory.model import ClusterEntry, Inventory


def select(
    inventory: Inventory, *, clusters: Sequence[str] = (), tags: Sequence[str] = (), owners: Sequence[str] = ()
) -> Inventory:
    """Returns the inventory with the clusters that match one value of each given kind.

    `clusters` are patterns with `*` and `?`. Raises UsageError if a value is empty or matches nothing, or if all
    together match nothing.
    """
    entries = inventory.clusters.values()
    chosen = [
        _by("--cluster", clusters, entries, lambda e, given: fnmatchcase(e.name, given), (e.name for e in entries)),
        _by("--tag", tags, entries, lambda e, given: given in e.tags, (t for e in entries for t in e.tags)),
        _by("--owner", owners, entries, lambda e, given: e.owner == given, (e.owner for e in entries if e.owner)),
    ]
    names = set(inventory.clusters).intersection(*(c for c in chosen if c is not None))
    if not names:
        raise UsageError(f"{inventory.origin}: no cluster matches --cluster, --tag and --owner together")
    return replace(inventory, clusters={n: e for n, e in inventory.clusters.items() if n in names})


def _by(
    option: str,
    given: Sequence[str],
    entries: Iterable[ClusterEntry],
    matches: Callable[[ClusterEntry, str], bool],
    known: Iterable[str],
) -> set[str] | None:
    """Returns the names that match an option, None if it is not given."""
    if not given:
        return None
    found = set[str]()
    for value in given:
        if not value.strip():
            raise UsageError(f"{option}: is empty", hint=f"leave {option} out to select all clusters")
        named = {e.name for e in entries if matches(e, value)}
        if not named:
            near = did_you_mean(value, {*known})
            raise UsageError(f"{option}: no cluster of the inventory matches {value!r}{near}")
        found |= named
    return found
