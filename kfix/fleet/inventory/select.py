"""A part of the fleet by name, tag or owner. What selects nothing is a mistake, never the whole fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from kfix.documents.problems import did_you_mean
from kfix.errors import UsageError
from kfix.model.audit.inventory import ClusterEntry, Inventory


def select(
    inventory: Inventory, *, clusters: Sequence[str] = (), tags: Sequence[str] = (), owners: Sequence[str] = ()
) -> Inventory:
    """Several values of one kind widen, several kinds narrow. `clusters` are patterns with `*` and `?`.

    UsageError where a value is empty or matches nothing, and where all of them together match nothing.
    """
    entries = inventory.clusters.values()
    chosen = [
        _by("--cluster", clusters, entries, lambda e, said: fnmatchcase(e.name, said), (e.name for e in entries)),
        _by("--tag", tags, entries, lambda e, said: said in e.tags, (t for e in entries for t in e.tags)),
        _by("--owner", owners, entries, lambda e, said: e.owner == said, (e.owner for e in entries if e.owner)),
    ]
    names = set(inventory.clusters).intersection(*(c for c in chosen if c is not None))
    if not names:
        raise UsageError(f"{inventory.origin}: no cluster is all of what --cluster, --tag and --owner ask for")
    return replace(inventory, clusters={n: e for n, e in inventory.clusters.items() if n in names})


def _by(
    option: str,
    said: Sequence[str],
    entries: Iterable[ClusterEntry],
    matches: Callable[[ClusterEntry, str], bool],
    known: Iterable[str],
) -> set[str] | None:
    """None where the option is not given."""
    if not said:
        return None
    found = set[str]()
    for value in said:
        if not value.strip():
            raise UsageError(f"{option}: is empty", hint=f"leave {option} out to have all clusters")
        named = {e.name for e in entries if matches(e, value)}
        if not named:
            near = did_you_mean(value, {*known})
            raise UsageError(f"{option}: no cluster of the inventory matches {value!r}{near}")
        found |= named
    return found
