"""How findings name things. These words are part of finding keys, so they must not change."""

from __future__ import annotations

from collections.abc import Iterable


def brokers_named(brokers: Iterable[int]) -> str:
    """Returns `broker 3` or `brokers 1, 3`, in numerical order; it is also the object of findings about brokers."""
    ids = sorted(set(brokers))
    return f"broker{'' if len(ids) == 1 else 's'} {', '.join(map(str, ids))}" if ids else "no broker"


def count(n: int, noun: str) -> str:
    """Returns `1 partition` or `2 partitions`, for nouns whose plural ends in s."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def byte_size(n: int) -> str:
    """Returns `60 MB`, in powers of ten and with at most one decimal."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n >= unit:
            return f"{n / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{n} B"
