"""How findings name brokers: part of their keys, so it must stay as it is."""

from __future__ import annotations

from collections.abc import Iterable


def brokers_named(brokers: Iterable[int]) -> str:
    """`broker 3`, `brokers 1, 3`: also the object of findings about brokers, so it must stay as it is."""
    ids = sorted(set(brokers))
    return f"broker{'' if len(ids) == 1 else 's'} {', '.join(map(str, ids))}" if ids else "no broker"
