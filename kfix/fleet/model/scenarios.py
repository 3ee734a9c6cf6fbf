"""Failures judged before they happen, for a fleet: what stops if a broker, a pair of brokers or a rack goes down.

The store keeps these rows (table `scenarios`): their fields are its columns, in this order. New fields are added at the
end; a field is never renamed and never changes its type.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Final

from kfix.core.declared import Unit

BROKER, PAIR, RACK = "broker", "pair", "rack"
#: The kinds of scenarios, smallest first.
KINDS: Final = (BROKER, PAIR, RACK)

Partitions = Annotated[int, Unit("partitions")]


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """One scenario of one cluster: all brokers of `brokers` go down at the same moment.

    `down` is what `--down` takes after the `=`. The counts are those of `kfix whatif` (docs/whatif.md) and cover what
    the failure causes; an unread source makes them incomplete.
    """

    cluster: Annotated[str, "the cluster's name in the inventory"]
    kind: Annotated[str, "broker, pair or rack"]
    down: Annotated[str, "what goes down: a broker id, two ids, or the name of a rack"]
    brokers: Annotated[tuple[int, ...], "the brokers that go down", Unit("broker ids")]
    stops: Annotated[Partitions, "partitions that lose their leader until a broker is back"]
    stranded: Annotated[
        Partitions, "of them those with a live in-sync replica: ZooKeeper's record has diverged (KFX201)"
    ]
    unclean: Annotated[Partitions, "partitions led by an out-of-sync replica: records are lost"]
    under_min_isr: Annotated[Partitions, "partitions that fall below min.insync.replicas: acks=all stops"]
    last_in_sync: Annotated[Partitions, "partitions that are left with their last in-sync replica"]
    moves: Annotated[Partitions, "partitions that another in-sync replica takes over, losing nothing"]
    unknown: Annotated[Partitions, "partitions that may stop or not: the snapshot does not show it"]
    topics: Annotated[int, "topics with a partition that stops or loses records", Unit("topics")]
    offsets: Annotated[Partitions, "partitions of __consumer_offsets that stop"]
    transactions: Annotated[Partitions, "partitions of __transaction_state that stop or fall below min.insync.replicas"]
    groups: Annotated[int, "consumer groups, known by name, whose coordinator stops", Unit("groups")]
    unwritable: Annotated[int, "consumer groups, known by name, that can no longer commit or rebalance", Unit("groups")]
    controller: Annotated[bool, "the controller goes down, as far as it is known"]
    complete: Annotated[bool, "all that could change the forecast was read; if not, no count is certain"]
    worst: Annotated[tuple[str, ...], "the topics with most partitions that stop or lose records, at most 3"]

    @property
    def something_stops(self) -> bool:
        """Returns whether partitions stop, or lose records: an unclean election is no better than a stop."""
        return bool(self.stops or self.unclean)

    @property
    def something_degrades(self) -> bool:
        return bool(self.under_min_isr or self.last_in_sync)

    @property
    def uncertain(self) -> bool:
        """Returns whether something may stop of which the snapshot shows too little. Never call such a row safe."""
        return bool(self.unknown) or not self.complete

    @property
    def rank(self) -> tuple[int, ...]:
        """The higher, the worse: first what stops, then what is certain to stop acks=all, then what is unknown."""
        certain = (self.topics, self.stops, self.unclean, self.groups, self.under_min_isr, self.unwritable)
        return (*certain, self.unknown, int(not self.complete), self.last_in_sync, self.moves)


def in_order(row: ScenarioRow) -> tuple[str, str, tuple[int, ...], str]:
    """Returns by what the rows of a run are ordered: its files are not."""
    return (row.cluster, row.kind, row.brokers, row.down)


def worst_first(rows: Iterable[ScenarioRow]) -> list[ScenarioRow]:
    return sorted(sorted(rows, key=in_order), key=lambda row: row.rank, reverse=True)


@dataclass(frozen=True, slots=True)
class ClusterScenarios:
    """One cluster in the matrix: its worst scenario of each kind.

    A kind without scenarios is absent: a cluster without racks has no rack; of pairs only those count that stop more
    than their brokers do one by one. With no kind at all nothing could be judged: the cluster was not read, or no
    source showed which brokers are alive.
    """

    cluster: str
    worst: Mapping[str, ScenarioRow]

    @property
    def judged(self) -> bool:
        return bool(self.worst)


def matrix_of(clusters: Iterable[str], rows: Iterable[ScenarioRow]) -> tuple[ClusterScenarios, ...]:
    """Returns the worst scenarios of each cluster in the given order, also of clusters without any."""
    found: dict[str, dict[str, ScenarioRow]] = {name: {} for name in clusters}
    for row in rows:
        kinds = found.setdefault(row.cluster, {})
        if row.kind not in kinds or row.rank > kinds[row.kind].rank:
            kinds[row.kind] = row
    return tuple(ClusterScenarios(name, kinds) for name, kinds in found.items())


@dataclass(frozen=True)
class FleetForecast:
    """What one failure does to each chosen cluster of a run, or, with `down` "", the worst failures of each.

    `down` is as in `--down`: `rack=b`. `rows` are worst first. `clusters` are those that were asked for, `owners` and
    `bootstraps` theirs; `absent` have no such rack or live broker, so that it cannot happen there. `unjudged` maps
    clusters to the reason why nothing, or not everything, is known of them.
    """

    day: date
    run: str
    store: str
    down: str
    rows: tuple[ScenarioRow, ...]
    clusters: tuple[str, ...]
    owners: Mapping[str, str] = field(default_factory=dict)
    bootstraps: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    unjudged: Mapping[str, str] = field(default_factory=dict)

    @property
    def losing(self) -> tuple[ScenarioRow, ...]:
        """The rows in which partitions stop or lose records."""
        return tuple(row for row in self.rows if row.something_stops)

    @property
    def uncertain(self) -> tuple[str, ...]:
        """The clusters of which too little is known to call them safe, sorted."""
        return tuple(sorted({*self.unjudged, *(row.cluster for row in self.rows if row.uncertain)}))
