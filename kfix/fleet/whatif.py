"""What would stop in a whole fleet if brokers or a rack went down: asked of a stored run. No cluster is contacted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from kfix.core.errors import UsageError
from kfix.core.inventory.load import select
from kfix.core.inventory.recorded import recorded_inventory
from kfix.fleet.audit.scenarios import JudgedScenarios, LiveBrokers, RunScenarios
from kfix.fleet.audits import EngineOptions
from kfix.fleet.engines.engine import Engine
from kfix.fleet.engines.opening import engine
from kfix.fleet.model.scenarios import BROKER, PAIR, RACK, FleetForecast, ScenarioRow, worst_first
from kfix.fleet.store.audits import audits, read_rows
from kfix.fleet.store.places import StoreLocation, place_of
from kfix.fleet.store.runs import Run, newest_run

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ChosenClusters:
    """The part of the fleet that is asked about, as in `kfix fleet collect`; empty: all clusters of the run."""

    clusters: Sequence[str] = ()
    tags: Sequence[str] = ()
    owners: Sequence[str] = ()


def fleet_forecast(
    place: str,
    down: str | None,
    chosen: ChosenClusters,
    on: EngineOptions,
    *,
    day: date | None = None,
    run: str = "",
) -> FleetForecast:
    """Returns what one failure does to each chosen cluster of the last run, or of the one that `day` and `run` name.

    `down` is `broker=3`, `broker=3,4`, `rack=b` or `rack=a,b`; None: the worst failures of each cluster. Raises
    UsageError if no chosen cluster has that rack or broker, or for a selection that matches nothing.
    """
    wanted = None if down is None else _parsed(down)
    # The engine first: pyspark forks to start Java, and a fork after threads have read an hdfs:// store never returns.
    with engine(on.spark, on.processes, on.settings, small_sql_here=True) as used:
        root = place_of(place)
        found = newest_run(root, day, run)
        inventory = select(
            recorded_inventory(found.manifest), clusters=chosen.clusters, tags=chosen.tags, owners=chosen.owners
        )
        names = tuple(inventory.clusters)
        absent: tuple[str, ...] = ()
        if wanted is None:
            judged = _stored(root, found) or RunScenarios(root, found, used).every()
        else:
            judged, absent = _judged(root, found, used, wanted, names)
    rows = worst_first(r for r in judged.rows if r.cluster in inventory.clusters)
    return FleetForecast(
        day=found.day,
        run=found.id,
        store=str(root),
        down=down or "",
        rows=tuple(rows),
        clusters=names,
        owners={name: entry.owner for name, entry in inventory.clusters.items()},
        bootstraps={name: entry.bootstrap for name, entry in inventory.clusters.items()},
        absent=absent,
        unjudged={name: why for name, why in judged.unjudged.items() if name in inventory.clusters},
    )


def _stored(root: StoreLocation, run: Run) -> JudgedScenarios | None:
    """Returns what the audit of this run has judged, None if there is no such audit."""
    damaged: list[str] = []
    for audit in audits(root, run.day, damaged=damaged):
        if audit.key == (run.day, run.id) and "scenarios_unjudged" in audit.manifest:
            return JudgedScenarios(read_rows(ScenarioRow, audit), dict(audit.manifest["scenarios_unjudged"]))
    return None


def _parsed(down: str) -> tuple[str, tuple[str, ...]]:
    kind, _, text = down.partition("=")
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    numbers = kind != BROKER or all(name.isascii() and name.isdigit() for name in names)
    if kind not in {BROKER, RACK} or not all(names) or not numbers:
        raise UsageError(f"--down {down!r}: broker=ID, broker=ID,ID or rack=NAME")
    return kind, names


def _judged(
    root: StoreLocation, run: Run, engine: Engine, wanted: tuple[str, tuple[str, ...]], names: Sequence[str]
) -> tuple[JudgedScenarios, tuple[str, ...]]:
    """Returns the judged clusters, and those that have no such rack, or not all of these brokers."""
    kind, which = wanted
    scenarios = RunScenarios(root, run, engine)
    live = {name: scenarios.brokers[name] for name in names if name in scenarios.brokers}
    failures = {name: failure for name, brokers in live.items() if (failure := _failure(kind, which, brokers))}
    if not failures:
        raise UsageError(f"--down {kind}={','.join(which)}: {_nowhere(kind, which, live)}")
    return scenarios.chosen(failures), tuple(sorted(live.keys() - failures.keys()))


def _failure(kind: str, which: Sequence[str], brokers: LiveBrokers) -> tuple[str, str, frozenset[int]] | None:
    if kind == RACK:
        down = frozenset[int]().union(*(brokers.in_rack(rack) for rack in which))
        return (RACK, ",".join(which), down) if down else None
    down = frozenset(map(int, which))
    return (BROKER if len(down) == 1 else PAIR, ",".join(which), down) if down <= brokers.racks.keys() else None


def _nowhere(kind: str, which: Sequence[str], live: Mapping[str, LiveBrokers]) -> str:
    if not live:
        return "no chosen cluster was read with its live brokers"
    if kind == RACK:
        racks = {rack for brokers in live.values() for rack in brokers.racks.values()} - {""}
        known = f"the racks are {_listed(sorted(racks))}" if racks else "no live broker has a rack"
        return f"no chosen cluster has a live broker in rack {', '.join(map(repr, which))}; {known}"
    ids = sorted({broker for brokers in live.values() for broker in brokers.racks})
    each = f"broker {which[0]}" if len(which) == 1 else f"brokers {', '.join(which)} together"
    return f"no chosen cluster has live {each}; alive are {_listed(map(str, ids))}"


def _listed(names: Iterable[str]) -> str:
    all_names = list(names)
    more = f" and {len(all_names) - _SHOWN} more" if len(all_names) > _SHOWN else ""
    return ", ".join(all_names[:_SHOWN]) + more
