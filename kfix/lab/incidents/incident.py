"""The shape of an incident."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage


@dataclass(frozen=True)
class Incident:
    name: str
    title: str
    does: str
    expect: tuple[str, ...]
    run: Callable[[Stage], Broken]
    needs: int = 3
    options: Mapping[str, str] = field(default_factory=dict)
