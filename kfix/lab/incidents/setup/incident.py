"""The frame of an incident: what every one declares, and what is the same in making each of them.

The lab's content is created, the incident's own act breaks the cluster and checks it, and then the groups that the act
does not name as hanging have to work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import RECIPES, Recipe
from kfix.lab.definition.state import BrokerDef
from kfix.lab.incidents.setup.context import IncidentContext


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


@dataclass(frozen=True)
class IncidentOutcome:
    """What the act of an incident found in the cluster that it broke.

    `checked` is the last sentence of the report. `expect` comes before what the declaration expects, of which `untrue`
    does not hold this time. `group` is by default that of partition 0, `topic` that of the first of
    `partitions`. `hung` are the offsets partitions whose groups hang; None: no group is asked.
    """

    checked: str = ""
    expect: tuple[str, ...] = ()
    group: str | None = None
    topic: str | None = None
    partitions: Iterable[TopicPartition] = ()
    dead: Iterable[int] = ()
    details: Mapping[str, int | str] = field(default_factory=dict)
    hung: Collection[int] | None = ()
    untrue: Collection[str] = ()


Act = Callable[[IncidentContext], IncidentOutcome]


@dataclass(frozen=True)
class Incident:
    """`choices` and `ranges` bound the values of `options`; the first choice is the default.

    `suits` returns why the brokers of a lab do not suit the incident, or an empty text. `refuse` raises an error for a
    lab or options with which it cannot be made, before anything is changed. `not_on` shows why the state cannot be made
    on a line: {mode, version, or both as in "3.9.2 zk": the reason}.
    """

    name: str
    title: str
    does: str
    expect: tuple[str, ...]
    needs: int = 3
    options: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranges: Mapping[str, range] = field(default_factory=dict)
    zones: bool = False  # cuts the network, so it needs a lab with zones
    suits: Callable[[Sequence[BrokerDef]], str] = lambda _: ""
    refuse: Callable[[IncidentContext], object] = lambda _: None
    not_on: Mapping[str, str] = field(default_factory=dict)
    elr: bool = False  # needs eligible leader replicas
    own_controllers: bool = False  # stops controllers, and would stop brokers where these are combined
    act: Act = lambda _: IncidentOutcome()

    def __call__(self, act: Act) -> Incident:
        """Declares that the decorated function makes this incident."""
        return replace(self, act=act)

    def reason_against(self, recipe: Recipe) -> str:
        """Returns why the state cannot be made on that line; empty where it can."""
        return next((self.not_on[each] for each in (recipe.mode, recipe.kafka, str(recipe)) if each in self.not_on), "")

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(str(each) for each in RECIPES.values() if not self.reason_against(each))

    def make(self, context: IncidentContext) -> Broken:
        """Makes the incident and verifies it. Raises LabError if the cluster is not as expected then."""
        self.refuse(context)
        context.content()
        found = self.act(context)
        if found.hung is not None:
            context.wait_groups(found.hung)
        if found.checked:
            context.report(f"checked: {found.checked}")
        partitions = tuple(found.partitions)
        return Broken(
            self.name,
            tuple(context.did),
            found.group or context.groups.by_partition[0],
            found.topic or next((each.topic for each in partitions), None),
            tuple(sorted(partitions)),
            tuple(sorted(found.dead)),
            (*found.expect, *(each for each in self.expect if each not in found.untrue)),
            dict(found.details),
        )


#: Reasons that several incidents share.
ZNODES = "it requires editing ZooKeeper's znodes, and KRaft has none"
NO_QUORUM = "it concerns the controllers of a KRaft quorum, and there are none with ZooKeeper"
