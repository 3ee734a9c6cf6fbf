"""A demo fleet: seeded synthetic clusters with days of history, so that the audit can be tried without Kafka."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Final

from kfix.core.errors import UsageError
from kfix.core.inventory.model import ClusterEntry, Criticality, Inventory, MaintenanceWindow, Mute
from kfix.core.inventory.recorded import record_entry, record_mute
from kfix.fleet.audit.reading import report
from kfix.fleet.audit.running import audit
from kfix.fleet.collect.run import Progress
from kfix.fleet.demo.shapes import SyntheticCluster
from kfix.fleet.demo.synthetic import write_fleet
from kfix.fleet.engines.opening import engine
from kfix.fleet.model.audit import AuditReport
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import StoreLocation, place_of
from kfix.fleet.store.runs import Run
from kfix.fleet.store.storelock import locked
from kfix.fleet.store.tables import AUDITS, RUNS

RUN: Final = "demo"
_HOUR: Final = time(2, 0, tzinfo=UTC)
_KINDS: Final = ("orders", "payments", "clicks", "billing", "search", "fraud", "mail", "stock", "audit", "telemetry")
_PLACES: Final = ("eu", "us", "ap")
_OWNERS: Final = ("team-streams", "team-payments", "team-data", "team-web")
#: Broker settings that deviate in some clusters of the demo.
_ODD: Final = (("min.insync.replicas", "1"), ("unclean.leader.election.enable", "true"))
_WHY: Final = (
    "10.0.0.7:9092: connection refused, nothing listens there",
    "no broker answered within 10 s",
    "TLS: the certificate has expired",
)


@dataclass(frozen=True, slots=True)
class SyntheticRun:
    """The clusters of one day, and those that could not be read. `at` is in seconds since the epoch."""

    day: date
    at: float
    clusters: tuple[SyntheticCluster, ...]
    failed: Mapping[str, str]


@dataclass(frozen=True)
class DemoFleet:
    """The parameters of a demo fleet; the same values give the same fleet.

    `sick` is the share of unhealthy partitions; a tenth of the clusters has a dead broker. The last day is `today`.
    Raises UsageError for values out of range.
    """

    today: date
    clusters: int = 30
    partitions: int = 2000
    days: int = 14
    sick: float = 0.001
    racks: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if not (1 <= self.clusters <= 10_000 and 1 <= self.days <= 400 and 1 <= self.partitions <= 200_000):
            raise UsageError(
                f"{self.clusters} clusters of {self.partitions} partitions over {self.days} days is out of range",
                hint="use 1 to 10000 clusters, 1 to 200000 partitions each, 1 to 400 days",
            )

    @cached_property
    def all(self) -> tuple[SyntheticCluster, ...]:
        rng = random.Random(f"{self.seed}/demo")  # noqa: S311 - not for secrets
        first = datetime.combine(self.today - timedelta(days=self.days - 1), _HOUR).timestamp()
        found = []
        for i in range(self.clusters):
            name = f"{_KINDS[i % len(_KINDS)]}-{_PLACES[i // len(_KINDS) % len(_PLACES)]}"
            number = i // (len(_KINDS) * len(_PLACES))
            size = max(1, round(self.partitions * rng.choice((0.25, 0.5, 1, 1, 2))))
            # Most clusters are healthy, as in a real fleet: a report with only sick clusters shows no priority.
            share = self.sick * rng.choice((0, 0, 0, 0.5, 1, 4))
            found.append(
                SyntheticCluster(
                    name if not number else f"{name}-{number + 1}",
                    size,
                    brokers=rng.choice((3, 6, 6, 9, 12)),
                    racks=rng.choice((self.racks, self.racks, self.racks, 0)),
                    sick=share,
                    seed=self.seed,
                    taken_at=first,
                    settings=_ODD[i // 7 % 2 :][:1] if i % 7 == 6 else (),
                )
            )
        return tuple(found)

    @cached_property
    def inventory(self) -> Inventory:
        rng = random.Random(f"{self.seed}/people")  # noqa: S311 - not for secrets
        entries = {
            c.name: ClusterEntry(
                c.name,
                bootstrap=f"kafka.{c.name}.invalid:9092",
                owner=rng.choice(_OWNERS),
                tags=("prod" if i % 3 else "staging", c.name.split("-")[1]),
                criticality=rng.choice(tuple(Criticality)),
                windows=(self._window,) if i % 11 == 10 else (),
            )
            for i, c in enumerate(self.all)
        }
        mutes = (
            Mute(("*",), ("KFX616",), "announced to all teams; no action per cluster", self._until(60), "demo"),
            Mute(("telemetry-*",), ("KFX302:*", "KFX401:*"), "moves to new brokers", self._until(5), "demo"),
            Mute(("search-*",), ("KFX601:*",), "was due to be fixed last week", self._until(-7), "demo"),
        )
        return Inventory(entries, mutes, "kfix fleet demo")

    def runs(self) -> Iterator[SyntheticRun]:
        """Yields the run of each day, oldest first."""
        for number in range(self.days):
            rng = random.Random(f"{self.seed}/night/{number}")  # noqa: S311 - not for secrets
            day = self.today - timedelta(days=self.days - 1 - number)
            away = rng.sample(range(self.clusters), min(self.clusters - 1, max(self.clusters // 25, number % 2)))
            failed = {self.all[i].name: _WHY[i % len(_WHY)] for i in away}
            there = tuple(
                # A broker dies and is back some days later.
                replace(c, day_number=number, dead=int(_down(i, number, c)), deaths=_changes(i, number, c))
                for i, c in enumerate(self.all)
                if c.name not in failed
            )
            yield SyntheticRun(day, datetime.combine(day, _HOUR).timestamp(), there, failed)

    def _until(self, days: int) -> date:
        return self.today + timedelta(days=days)

    @property
    def _window(self) -> MaintenanceWindow:
        return MaintenanceWindow("monthly patching", weekdays=frozenset(range(7)), at=60, minutes=180)


def _down(place: int, number: int, cluster: SyntheticCluster) -> bool:
    """Returns whether the last broker of a cluster is down on that day."""
    return (place + number // 4) % 10 == 3 and cluster.brokers > 3


def _changes(place: int, number: int, cluster: SyntheticCluster) -> int:
    """Returns how often that broker has died or returned since the first day."""
    return sum(_down(place, n, cluster) != _down(place, n - 1, cluster) for n in range(1, number + 1))


def empty_store(root: StoreLocation) -> None:
    """Raises UsageError if the store has runs: demo data must not be mixed with real snapshots."""
    if StoreTable(root, RUNS).runs() or StoreTable(root, AUDITS).runs():
        raise UsageError(f"{root}: already has runs", hint="give the demo a store of its own: --store DIR")


def write_run(root: StoreLocation, fleet: DemoFleet, made: SyntheticRun, processes: int | None = None) -> Run:
    """Writes the clusters of one day into the store as a complete run."""
    more = {
        "entries": {n: record_entry(e) for n, e in fleet.inventory.clusters.items()},
        "mutes": [record_mute(m) for m in fleet.inventory.mutes],
        "inventory": {"origin": fleet.inventory.origin},
    }
    return write_fleet(
        str(root),
        made.day,
        RUN,
        made.clusters,
        processes=processes,
        failed=made.failed,
        at=made.at,
        more=more,
    )


def make_demo(place: str, fleet: DemoFleet, processes: int | None, progress: Progress) -> AuditReport:
    """Fills an empty store day by day, audits every day, and returns the last report.

    Raises UsageError if the store already has runs.
    """
    root = place_of(place)
    with locked(place, creates=True), engine(processes=processes) as used:
        empty_store(root)
        with progress(fleet.days) as hear:
            for each in fleet.runs():
                run = write_run(root, fleet, each, processes)
                made = audit(root, run, fleet.inventory, used)
                hear(each.day.isoformat(), "")
        return report(root, made, used)
