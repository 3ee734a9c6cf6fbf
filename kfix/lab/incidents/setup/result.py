"""What `kfix lab break` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Broken:
    """An incident that was made and then verified: the cluster is in the state that it names."""

    incident: str
    did: tuple[str, ...]
    group: str | None
    topic: str | None
    partitions: tuple[tuple[str, int], ...]
    dead: tuple[int, ...]
    expect: tuple[str, ...]
    details: Mapping[str, int | str] = field(default_factory=dict)  # numbers that a remedy is compared with
