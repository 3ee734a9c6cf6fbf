"""The shape of an incident."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kfix.lab.definition.state import BrokerDef
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


@dataclass(frozen=True)
class Incident:
    """`choices` and `ranges` bound the values of `options`; the first choice is the default.

    `suits` returns why the brokers of a lab do not suit the incident, or an empty text.
    """

    name: str
    title: str
    does: str
    expect: tuple[str, ...]
    run: Callable[[IncidentContext], Broken]
    needs: int = 3
    options: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranges: Mapping[str, range] = field(default_factory=dict)
    zones: bool = False  # cuts the network, so it needs a lab with zones
    suits: Callable[[Sequence[BrokerDef]], str] = lambda _: ""
