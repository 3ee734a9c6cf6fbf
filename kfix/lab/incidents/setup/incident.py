"""The shape of an incident."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kfix.lab.definition.recipes import RECIPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kfix.lab.definition.recipes import Recipe
    from kfix.lab.definition.state import BrokerDef
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


@dataclass(frozen=True)
class Incident:
    """`choices` and `ranges` bound the values of `options`; the first choice is the default.

    `suits` returns why the brokers of a lab do not suit the incident, or an empty text. `not_on` says why the state
    cannot be made on a line: {mode, version, or both as in "3.9.2 zk": the reason}.
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
    not_on: Mapping[str, str] = field(default_factory=dict)
    elr: bool = False  # needs eligible leader replicas
    own_controllers: bool = False  # stops controllers, and would stop brokers where these are combined

    def reason_against(self, recipe: Recipe) -> str:
        """Returns why the state cannot be made on that line; empty where it can."""
        return next((self.not_on[each] for each in (recipe.mode, recipe.kafka, str(recipe)) if each in self.not_on), "")

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(str(each) for each in RECIPES.values() if not self.reason_against(each))


#: Reasons that several incidents share.
ZNODES = "it requires editing ZooKeeper's znodes, and KRaft has none"
NO_QUORUM = "it concerns the controllers of a KRaft quorum, and there are none with ZooKeeper"
